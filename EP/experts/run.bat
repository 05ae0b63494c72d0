@cd /d "%~dp0" && ..\..\jobs\run.bat -n 4 --logs . intro_EP.py %*
