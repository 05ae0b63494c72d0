@cd /d "%~dp0" && ..\..\helpers\ranks\run.bat -n 4 --logs . intro_EP.py %*
