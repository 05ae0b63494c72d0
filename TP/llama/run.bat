@cd /d "%~dp0" && ..\..\jobs\run.bat -n 2 --logs . intro_TP.py %*
