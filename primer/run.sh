#!/bin/sh
# Starts the script here; leaves out0.txt. Flags go on to the script.
cd "$(dirname "$0")" || exit 1
"${PYTHON:-python}" -c "import helpers" 2>&- || { echo "error: activate .venv first" >&2; exit 1; }
exec "${PYTHON:-python}" -m helpers.ranks -n 1 --logs . intro.py "$@"
