@cd /d "%~dp0" && ..\helpers\ranks\run.bat -n 6 --logs . intro_DP_PP.py %*
