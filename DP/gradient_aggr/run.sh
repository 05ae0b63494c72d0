#!/bin/sh
# Starts ranks 0 to 2 here; leaves out0.txt to out2.txt. Flags go on to the script.
cd "$(dirname "$0")" || exit 1
"${PYTHON:-python}" -c "import helpers" 2>&- || { echo "error: activate .venv first" >&2; exit 1; }
exec "${PYTHON:-python}" -m helpers.ranks -n 3 --logs . intro_DP_GA.py "$@"
