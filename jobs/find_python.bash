# Read by every job script at the top of the lab: activates .venv, and sets PYTHON.
# A fresh shell has no `python`, nor has a terminal in which nobody activated the environment.
[ -f .venv/bin/activate ] && . .venv/bin/activate
PYTHON=${PYTHON:-python}
if ! command -v "$PYTHON" >/dev/null; then
    echo "error: there is no $PYTHON here: type 'make setup' in $PWD, or set PYTHON" >&2
    exit 1
fi
