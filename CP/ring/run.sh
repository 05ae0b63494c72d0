#!/bin/sh
# Starts rank 0 to 3 on this machine; leaves out0.txt to out3.txt here.
# Flags go on to the script:  ./run.sh --steps 10
cd "$(dirname "$0")" || exit 1
"${PYTHON:-python}" -c "import helpers.ranks" 2>/dev/null || {
    echo "error: this Python has no lab in it: first type  source .venv/bin/activate  at the top of the lab" >&2
    exit 1
}
exec "${PYTHON:-python}" -m helpers.ranks -n 4 --logs . intro_CP_ring.py "$@"
