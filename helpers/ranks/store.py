"""The place of one process among all, and the store in which all ranks meet.

Rank 0 serves torch's key-value store; here is how, and how the others find it.

The store has no password, and torch would serve it on every network of the machine, whatever
address it is told. So if all ranks are on this machine, the store uses a socket of ours that
listens on the loopback only.
"""

import contextlib
import importlib
import ipaddress
import os
import platform
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

SAY_AFTER_S = 3.0  # after this long a waiting rank says which one it waits for
HERE = "127.0.0.1"
BY_HAND = "by hand"
DEFAULT_ADDRESS = "localhost"
DEFAULT_PORT = 29500


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


def is_here(address: str) -> bool:
    """Return whether an address is the loopback on every machine, as "localhost" is."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address).is_loopback
    return address == "localhost"


def all_here(place: Place) -> bool:
    """Return whether all ranks are certainly on this machine."""
    counted = place.launcher == "torchrun" and place.local_world_size == place.world_size
    return counted or is_here(place.address)


def serve_store(address: str, port: int = 0, **options):
    """Serve a store, on the loopback only if that is the address; port 0 takes any free port.

    On Windows the store listens on every network, because torch accepts no socket from us there.

    Args:
        options: options of torch's TCPStore.

    Raises:
        OSError, torch.distributed.DistError: if the port is in use.
    """
    import torch.distributed as dist

    if is_here(address) and sys.platform != "win32":
        options["master_listen_fd"], port = _listen(address, port)
    return dist.TCPStore(address, port, is_master=True, wait_for_workers=False, **options)


def keep_to_loopback() -> None:
    """Keep everything that `init_process_group` opens in this process on the loopback.

    That is a store at MASTER_PORT, unless MASTER_ADDR is another machine, and the sockets of gloo,
    NCCL and RPC, which would otherwise listen on the network of the machine's own name.
    """
    use_interfaces(loopback_variables())
    if sys.platform != "win32":
        # By its full name: torch.distributed has a function of the same name.
        importlib.import_module("torch.distributed.rendezvous").TCPStore = _store_of_torch


def _store_of_torch(host_name, port, world_size=None, is_master=False, *args, **options):
    """Open a TCPStore in place of torch's own rendezvous, on the loopback if possible."""
    from torch.distributed import TCPStore

    if is_master and is_here(host_name):
        # Leave a port in use to torch: this process may be serving a store there already.
        with contextlib.suppress(OSError):
            options["master_listen_fd"], port = _listen(host_name, port)
    return TCPStore(host_name, port, world_size, is_master, *args, **options)


def _listen(address: str, port: int) -> tuple[int, int]:
    """Listen on the loopback; return the descriptor, which torch will close, and the port."""
    family, host = (socket.AF_INET6, "::1") if address == "::1" else (socket.AF_INET, HERE)
    listening = socket.create_server((host, port), family=family, backlog=socket.SOMAXCONN)
    port = listening.getsockname()[1]
    return listening.detach(), port


def open_store(place: Place, timeout: float):
    """Open the store of all ranks: rank 0 serves it, and the others connect to it."""
    import torch.distributed as dist

    port, serves = place.port, place.rank == 0
    if "LAB_STORE_PORT" in os.environ:  # our own launcher serves it already, on a free port
        port, serves = int(os.environ["LAB_STORE_PORT"]), False
    where = f"{place.address}:{port}"
    _look_up(place.address)
    if serves:
        _require_own(place.address)
    else:
        _await_rank_0(place, port, timeout)
    try:
        wait = timedelta(seconds=timeout)
        with _without_stacks():
            if serves:
                return serve_store(place.address, port, timeout=wait)
            return dist.TCPStore(place.address, port, is_master=False, timeout=wait)
    except (dist.DistError, RuntimeError, OSError) as error:
        text = str(error).lower()
        if serves and ("eaddrinuse" in text or "in use" in text):
            raise ConnectError(
                f"port {port} is in use by another program (or by ranks of an earlier run): set "
                f"MASTER_PORT to another number for every rank, or let "
                f"'python -m helpers.ranks -n {place.world_size} SCRIPT' find a free one"
            ) from None
        if serves:
            raise ConnectError(f"rank 0 cannot listen at {where}: {first_line(error)}") from None
        raise ConnectError(
            f"rank {place.rank} called {where}, but what answers there is not rank 0 of this "
            f"run: set MASTER_PORT to another number for every rank ({first_line(error)})"
        ) from None


def _look_up(address: str) -> None:
    """Raise ConnectError if the name of rank 0's machine can't be resolved."""
    try:
        socket.getaddrinfo(address, None)
    except (socket.gaierror, UnicodeError):
        raise ConnectError(
            f"the address {address!r} of rank 0 is not known on this machine: set MASTER_ADDR to "
            "a name or number that is, the same for every rank"
        ) from None


def _require_own(address: str) -> None:
    """Raise ConnectError if rank 0, which is here, is to listen at another machine's address.

    torch would call that address until its time-out.
    """
    for family, _, _, _, where in socket.getaddrinfo(address, None):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((where[0], 0, *where[2:]))
            return
    raise ConnectError(
        f"rank 0 is on {platform.node()}, and the ranks were told to meet at {address}, which is "
        "another machine: set MASTER_ADDR to the name or address of rank 0's machine for every rank"
    )


@contextlib.contextmanager
def _without_stacks() -> Iterator[None]:
    """Keep back what the body writes to stderr, and drop it if it raises: the error says it all.

    torch's C++ writes a stack of thirty lines for each time that it calls again.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as written:
        os.dup2(written.fileno(), 2)
        try:
            yield
        except BaseException:
            os.dup2(kept, 2)
            raise
        else:
            os.dup2(kept, 2)
            written.seek(0)
            os.write(2, written.read())
        finally:
            os.close(kept)


def _await_rank_0(place: Place, port: int, timeout: float) -> None:
    """Wait until something listens where rank 0 should; raise ConnectError after the time-out."""
    begun, said = time.monotonic(), False
    while True:
        try:
            socket.create_connection((place.address, port), timeout=5).close()
            return
        except ConnectionRefusedError:
            pass
        except OSError as error:
            if time.monotonic() - begun > timeout:
                raise ConnectError(
                    f"rank 0 cannot be reached at {place.address}:{port}: {error}"
                ) from None
        waited = time.monotonic() - begun
        if waited > SAY_AFTER_S and not said:
            said = True
            print(f"[ranks] rank {place.rank} waits for rank 0 at {place.address}:{port}")
            sys.stdout.flush()
        if waited > timeout:
            raise ConnectError(
                f"rank {place.rank} waited {timeout:.0f} s for rank 0 at {place.address}:{port}, "
                "but nothing listens there: start rank 0 too"
            )
        time.sleep(0.05)


def first_line(error: Exception) -> str:
    """Return the first line of an error's text."""
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else repr(error)


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


def use_interfaces(variables: dict[str, str]) -> None:
    """Set the variables that a person hasn't set, and take back what an earlier call set.

    A process may connect twice, and the ranks that it launches afterwards inherit its environment.
    """
    for name in [name for name, value in _set_here.items() if os.environ.get(name) == value]:
        del os.environ[name]
    _set_here.clear()
    _set_here.update((n, value) for n, value in variables.items() if n not in os.environ)
    os.environ.update(_set_here)


_set_here: dict[str, str] = {}


def interface_to(address: str) -> str | None:
    """Return the interface that reaches an address, as in "eth0"; None if unknown (not on Linux).

    gloo would take the interface of the machine's own name. On many laptops that is the loopback,
    which no other machine can reach.
    """
    own = address_towards(address)
    if own is None or not sys.platform.startswith("linux"):
        return None
    import psutil

    interfaces = psutil.net_if_addrs().items()
    return next((name for name, all_of in interfaces if own in {a.address for a in all_of}), None)


def address_towards(address: str) -> str | None:
    """Return this machine's address in the network of another one; None if it has none."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))  # sends nothing: it only selects a route
            return probe.getsockname()[0]
    except OSError:
        return None
