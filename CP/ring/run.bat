@cd /d "%~dp0" && ..\..\helpers\ranks\run.bat -n 4 --logs . intro_CP_ring.py %*
