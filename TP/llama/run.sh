#!/bin/sh
cd "$(dirname "$0")" && exec ../../helpers/ranks/run.sh -n 2 --logs . intro_TP.py "$@"
