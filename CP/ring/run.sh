#!/bin/sh
cd "$(dirname "$0")" && exec ../../helpers/ranks/run.sh -n 4 --logs . intro_CP_ring.py "$@"
