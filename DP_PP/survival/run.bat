@echo off
rem Starts ranks 0 to 5 on this machine; leaves out0.txt to out5.txt, and runs/checkpoints, here.
rem Flags go on to the script:  run.bat --die-at 13
cd /d "%~dp0"
python -c "import helpers.ranks" 2>nul || (echo error: this Python has no lab in it: first type  .venv\Scripts\activate  at the top of the lab & exit /b 1)
python -m helpers.ranks -n 6 --logs . intro_survival.py %*
