#!/bin/sh
# What run.sh of each folder does: start all ranks, which leave out0.txt, out1.txt and so on.
"${PYTHON:-python}" -c "import helpers" 2>&- || { echo "error: activate .venv first" >&2; exit 1; }
exec "${PYTHON:-python}" -m helpers.ranks "$@"
