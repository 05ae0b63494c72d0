"""The place of one process among all, and the store in which all ranks meet.

The store, torch's, has no password, and torch would serve it on every network of the machine,
whatever address it is told. So if all ranks are on this machine it gets a socket of ours that
listens on the loopback only.
"""

import contextlib
import ipaddress
import os
import random
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from helpers.words import text_of

SAY_AFTER_S = 3.0  # after this long a waiting rank says which one it waits for
HERE = "127.0.0.1"
BY_HAND = "by hand"
DEFAULT_ADDRESS = "localhost"
DEFAULT_PORT = 29500
# Below the ephemeral ports (Linux from 32768, others from 49152), so that another program hardly
# ever takes one before rank 0 listens.
PORTS = range(20000, 32768)


@dataclass(frozen=True)
class Place:
    """One process among `world_size`.

    `local_rank` counts the ranks of this machine only, from 0; it chooses the GPU.
    `address` and `port` are where rank 0 listens while all ranks find each other.
    """

    rank: int
    world_size: int
    local_rank: int
    local_world_size: int
    address: str = DEFAULT_ADDRESS
    port: int = DEFAULT_PORT
    launcher: str = BY_HAND


class ConnectError(RuntimeError):
    """The ranks could not become one group; the message says why and what to do."""


def free_port(host: str = HERE) -> int:
    """Return an unused port, chosen at random. host: where it must be free; "": everywhere."""
    chance = random.SystemRandom()  # leaves the state of the caller's generator alone
    for port in (*chance.sample(PORTS, 100), 0):  # 0: any that the system has left
        with contextlib.suppress(OSError), socket.create_server((host, port)) as probe:
            return probe.getsockname()[1]
    raise OSError("no port is free")


def is_here(address: str) -> bool:
    """Return whether an address is the loopback on every machine, as "localhost" is."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address).is_loopback
    return address == "localhost"


def all_here(place: Place) -> bool:
    """Return whether all ranks are certainly on this machine."""
    counted = place.launcher == "torchrun" and place.local_world_size == place.world_size
    return counted or is_here(place.address)


def listen(port: int = 0) -> socket.socket:
    """Listen on the loopback only, by default at any free port."""
    return socket.create_server((HERE, port), backlog=socket.SOMAXCONN)


def serve_store(address: str, port: int = 0, listening: socket.socket | None = None, **options):
    """Serve a store, on the loopback only if that is the address; port 0 takes any free port.

    Else it listens on every network, and so it does on Windows (torch takes no socket there).
    listening: a socket that listens already. options: of torch's TCPStore.
    """
    from torch.distributed import TCPStore

    if listening or (is_here(address) and sys.platform != "win32"):
        listening = listening or listen(port)
        port = listening.getsockname()[1]
        if sys.platform == "win32":
            listening.close()
        else:
            options["master_listen_fd"] = listening.detach()
    return TCPStore(HERE, port, is_master=True, wait_for_workers=False, **options)


def launched_store(number: int, wait: timedelta | None = None):
    """Open the store that rank 0 of our own launcher serves, under a name for each world.

    Else gloo would call the addresses that an earlier world has left there.
    """
    from torch.distributed import PrefixStore, TCPStore

    where = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    store = TCPStore(*where, is_master=False, **({"timeout": wait} if wait else {}))
    return PrefixStore(f"world/{number}", store)


def open_store(place: Place, timeout: float, torchruns: bool):
    """Open the store of ranks that somebody else has started: rank 0 serves it, the others call.

    torchruns: whether it was torchrun, whose own store holds what an earlier attempt has left, with
        addresses of dead ranks. Each machine counts the attempts for itself, so rank 0 serves
        another store and leaves its port there.

    Raise ConnectError if the address is unknown or the port taken, or rank 0 doesn't come.
    """
    from torch.distributed import DistError, TCPStore

    address, port, wait = place.address, place.port, timedelta(seconds=timeout)
    try:
        socket.getaddrinfo(address, None)
    except (socket.gaierror, UnicodeError):
        raise ConnectError(
            f"the address {address!r} of rank 0 is not known on this machine: set "
            "MASTER_ADDR to a name or number that is, the same for every rank"
        ) from None
    if torchruns:
        kept = TCPStore(address, port, is_master=False, timeout=wait)
        address, port = HERE if all_here(place) else address, 0
    if place.rank == 0:
        try:
            store = serve_store(address, port, timeout=wait)
        except (DistError, OSError) as error:
            why = f"rank 0 cannot listen at {address}:{port}: {text_of(error)[:200]}"
            if "in use" in str(error).lower() or "eaddrinuse" in str(error).lower():
                why = (
                    f"port {port} is in use by another program (or by ranks of an earlier run): "
                    "set MASTER_PORT to another number for every rank, or let 'python -m "
                    f"helpers.ranks -n {place.world_size} SCRIPT' find a free one"
                )
            raise ConnectError(why) from None
        if torchruns:
            kept.set("lab/port", str(store.port))
        return store
    for waited, late in waiting():
        if torchruns:  # it may still be that of the previous attempt
            port = int(kept.get("lab/port"))
        try:
            socket.create_connection((address, port), timeout=5).close()
            return TCPStore(address, port, is_master=False, timeout=wait)
        except (OSError, DistError) as error:
            why = "but nothing listens there: start rank 0 too"
            if not isinstance(error, ConnectionRefusedError):
                why = f"which cannot be reached: {text_of(error)[:200]}"
        if late:
            print(f"[ranks] rank {place.rank} waits for rank 0 at {address}:{port}", flush=True)
        if waited > timeout:
            raise ConnectError(
                f"rank {place.rank} waited {timeout:.0f} s for rank 0 at {address}:{port}, {why}"
            )


def waiting() -> Iterator[tuple[float, bool]]:
    """Yield how many seconds have passed, and once whether it's time to say what is waited for."""
    begun, said = time.monotonic(), False
    while True:
        waited = time.monotonic() - begun
        late = waited > SAY_AFTER_S and not said
        said = said or late
        yield waited, late
        time.sleep(0.02)


# --- networks ------------------------------------------------------------------------------------


def loopback_variables() -> dict[str, str]:
    """Return the variables that keep gloo, NCCL and torch's RPC on this system's loopback.

    Without them they listen on the address of the machine's own name: the network of a lecture
    hall, or none at all, as on a Mac that can't resolve its name.
    """
    if sys.platform == "win32":
        return {"USE_LIBUV": "0"}
    name = "lo0" if sys.platform == "darwin" else "lo"
    libraries = ("GLOO", "TP") if sys.platform == "darwin" else ("GLOO", "TP", "NCCL")
    return {f"{library}_SOCKET_IFNAME": name for library in libraries}


def choose_networks(place: Place) -> dict[str, str]:
    """Return the variables for the networks that reach all ranks.

    gloo would take the interface of the machine's own name. On many laptops that is the loopback,
    which no other machine can reach.
    """
    if all_here(place):
        return loopback_variables()
    import psutil

    own = address_towards(place.address)
    for name, addresses in psutil.net_if_addrs().items() if sys.platform == "linux" else ():
        if own in {each.address for each in addresses} and not name.startswith("lo"):
            return {"GLOO_SOCKET_IFNAME": name}
    return {}


def address_towards(address: str) -> str | None:
    """Return this machine's address in the network of another one; None if it has none."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((address, 9))  # sends nothing: it only selects a route
        return probe.getsockname()[0]
    return None
