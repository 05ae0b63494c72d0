@cd /d "%~dp0" && ..\..\helpers\ranks\run.bat -n 2 --logs . intro_TP.py %*
