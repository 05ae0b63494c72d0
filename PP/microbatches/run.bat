@cd /d "%~dp0" && ..\..\jobs\run.bat -n 3 --logs . intro_PP_microbatches.py %*
