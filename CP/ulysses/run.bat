@echo off
rem Starts ranks 0 to 3 here; leaves out0.txt to out3.txt. Flags go on to the script.
cd /d "%~dp0"
python -c "import helpers" 2>nul || (echo error: activate .venv first & exit /b 1)
python -m helpers.ranks -n 4 --logs . intro_CP_ulysses.py %*
