#!/bin/sh
cd "$(dirname "$0")" && exec ../helpers/ranks/run.sh -n 6 --logs . intro_DP_PP.py "$@"
