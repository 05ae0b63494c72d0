@cd /d "%~dp0" && ..\helpers\ranks\run.bat -n 1 --logs . intro.py %*
