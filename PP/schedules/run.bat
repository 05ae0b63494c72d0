@cd /d "%~dp0" && ..\..\helpers\ranks\run.bat -n 3 --logs . intro_PP_schedule.py %*
