"""For job scripts: the address of this machine on the way to another, and whether it is the other.

python jobs/way_to.py 192.168.1.10        prints, as an example:  192.168.1.11 0
"""

import socket
import sys

from helpers.ranks.store import address_towards

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("error: name one address, as in: python jobs/way_to.py 192.168.1.10")
    own = address_towards(sys.argv[1])
    if own is None:
        sys.exit(f"error: there is no way from this machine to {sys.argv[1]!r}")
    print(own, int(socket.gethostbyname(sys.argv[1]) == own))
