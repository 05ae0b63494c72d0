#!/bin/sh
# Starts ranks 0 to 5 on this machine; leaves out0.txt to out5.txt, and runs/checkpoints, here.
# Flags go on to the script:  ./run.sh --die-at 13
cd "$(dirname "$0")" || exit 1
"${PYTHON:-python}" -c "import helpers.ranks" 2>/dev/null || {
    echo "error: this Python has no lab in it: first type  source .venv/bin/activate  at the top of the lab" >&2
    exit 1
}
exec "${PYTHON:-python}" -m helpers.ranks -n 6 --logs . intro_survival.py "$@"
