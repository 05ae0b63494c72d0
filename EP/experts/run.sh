#!/bin/sh
# Starts ranks 0 to 3 here; leaves out0.txt to out3.txt. Flags go on to the script.
cd "$(dirname "$0")" && exec ../../helpers/ranks/run.sh -n 4 --logs . intro_EP.py "$@"
