#!/bin/sh
cd "$(dirname "$0")" && exec ../helpers/ranks/run.sh -n 1 --logs . intro.py "$@"
