@echo off
rem Starts rank 0, 1 and 2 on this machine; leaves out0.txt, out1.txt and out2.txt here.
rem Flags go on to the script:  run.bat --stage 3
cd /d "%~dp0"
python -c "import helpers.ranks" 2>nul || (echo error: this Python has no lab in it: first type  .venv\Scripts\activate  at the top of the lab & exit /b 1)
python -m helpers.ranks -n 3 --logs . intro_ZeRO.py %*
