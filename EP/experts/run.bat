@echo off
rem Starts ranks 0 to 3 on this machine; leaves out0.txt to out3.txt here.
rem Flags go on to the script:  run.bat --balance loss
cd /d "%~dp0"
python -c "import helpers.ranks" 2>nul || (echo error: this Python has no lab in it: first type  .venv\Scripts\activate  at the top of the lab & exit /b 1)
python -m helpers.ranks -n 4 --logs . intro_EP.py %*
