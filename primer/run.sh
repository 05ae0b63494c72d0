#!/bin/sh
# Starts the script on this machine; leaves out0.txt here.
# Flags go on to the script:  ./run.sh --steps 10
cd "$(dirname "$0")" && exec "${PYTHON:-python}" -m helpers.ranks -n 1 --logs . intro.py "$@"
