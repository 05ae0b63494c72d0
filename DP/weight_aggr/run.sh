#!/bin/sh
# Starts ranks 0 to 2 here; leaves out0.txt to out2.txt. Flags go on to the script.
cd "$(dirname "$0")" && exec ../../helpers/ranks/run.sh -n 3 --logs . intro_DP_WA.py "$@"
