@echo off
rem Starts the script here; leaves out0.txt. Flags go on to the script.
cd /d "%~dp0"
python -c "import helpers" 2>nul || (echo error: activate .venv first & exit /b 1)
python -m helpers.ranks -n 1 --logs . intro.py %*
