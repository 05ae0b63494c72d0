#!/bin/sh
# Starts ranks 0 to 5 here; leaves out0.txt to out5.txt, runs/checkpoints. Flags go on to the script.
cd "$(dirname "$0")" || exit 1
"${PYTHON:-python}" -c "import helpers" 2>&- || { echo "error: activate .venv first" >&2; exit 1; }
exec "${PYTHON:-python}" -m helpers.ranks -n 6 --logs . intro_survival.py "$@"
