#!/bin/sh
# Starts rank 0, 1 and 2 on this machine; leaves out0.txt, out1.txt and out2.txt here.
# Flags go on to the script:  ./run.sh --steps 10
cd "$(dirname "$0")" && exec "${PYTHON:-python}" -m helpers.ranks -n 3 --logs . intro_DP_WA.py "$@"
