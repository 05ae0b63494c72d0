@echo off
rem Starts ranks 0 to 2 here; leaves out0.txt to out2.txt. Flags go on to the script.
cd /d "%~dp0"
python -c "import helpers" 2>nul || (echo error: activate .venv first & exit /b 1)
python -m helpers.ranks -n 3 --logs . intro_ZeRO.py %*
