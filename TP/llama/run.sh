#!/bin/sh
# Starts ranks 0 to 1 here; leaves out0.txt to out1.txt. Flags go on to the script.
cd "$(dirname "$0")" && exec ../../helpers/ranks/run.sh -n 2 --logs . intro_TP.py "$@"
