#!/bin/sh
cd "$(dirname "$0")" && exec ../../helpers/ranks/run.sh -n 3 --logs . intro_PP_schedule.py "$@"
