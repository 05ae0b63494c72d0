@echo off
rem Starts the script on this machine; leaves out0.txt here.
rem Flags go on to the script:  run.bat --steps 10
cd /d "%~dp0"
python -m helpers.ranks -n 1 --logs . intro.py %*
