#!/bin/sh
# What the run.sh of each folder does: python -m helpers.ranks, or a word if it isn't there.
"${PYTHON:-python}" -c "import helpers" 2>&- || { echo "error: activate .venv first" >&2; exit 1; }
exec "${PYTHON:-python}" -m helpers.ranks "$@"
