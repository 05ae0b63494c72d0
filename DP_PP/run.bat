@cd /d "%~dp0" && ..\jobs\run.bat -n 6 --logs . intro_DP_PP.py %*
