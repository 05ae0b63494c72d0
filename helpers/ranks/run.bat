@echo off
python -c "import helpers" 2>nul || (echo error: activate .venv first & exit /b 1)
python -m helpers.ranks %*
