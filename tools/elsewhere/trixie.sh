# Debian 13, Python 3.13, with what the README asks for and what the sandbox and the network use.
debian trixie ca-certificates git make python3-venv tzdata bubblewrap iproute2
clone lab
in_lab "make test"
