#!/bin/sh
# Starts ranks 0 to 5 here; leaves out0.txt to out5.txt. Flags go on to the script.
cd "$(dirname "$0")" && exec ../../helpers/ranks/run.sh -n 6 --logs . intro_survival.py "$@"
