# Debian's next release: Python 3.14, and whatever has changed since.
debian sid ca-certificates git make python3-venv tzdata bubblewrap iproute2
clone lab
in_lab "make test"
