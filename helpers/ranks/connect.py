"""From separate processes to one process group, with an error where torch would only wait.

`torch.distributed.init_process_group` waits, in silence and for many minutes, when a rank is
missing, started twice, or told another world size.  `connect` lets the ranks compare notes
first, over the same small key-value store that torch uses for its own rendezvous.
"""

import os
import socket
import sys
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from helpers.ranks.backend import Choice, choose_backend, gpu_of
from helpers.ranks.interface import interface_to
from helpers.ranks.place import Place, usable_cores

if TYPE_CHECKING:
    import torch

LINGER_S = 10.0  # how long rank 0 lets the others read what went wrong, at most
TOLD_S = 1.0  # at least, and no longer once all that have come know it
SAY_AFTER_S = 3.0  # after this long a waiting rank says for whom it waits
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class ConnectError(RuntimeError):
    """The ranks could not become one group; the message says why and what to do."""


def connect(
    place: Place,
    backend: str = "auto",
    timeout: float = 300.0,
    quiet: bool = False,
    checked: bool | None = None,
) -> "torch.device":
    """Join the process group of all ranks; give the device that this rank computes on.

    place: as `find_place` found it.
    backend: "auto" takes NCCL where each rank has a GPU of its own, gloo elsewhere.
    timeout: seconds to wait for the other ranks, and for any later message.
    quiet: do not say on rank 0 which backend was taken.
    checked: compare what the ranks are about to do, before they do it, and refuse what does not
        fit with an error that names it (`helpers.hang.agree`; over gloo only). None: where the
        launcher asks for it (LAB_CHECKED=1).

    Sets the number of threads, so that the ranks of one machine share its cores.
    Raises ConnectError or BackendError, each with one sentence.  End with `disconnect()`.
    """
    import torch
    import torch.distributed as dist

    if dist.is_initialized():
        raise ConnectError("this process is connected already: call connect() once")
    gpus = torch.cuda.device_count()
    choice = choose_backend(backend, place, gpus, dist.is_nccl_available())
    share = max(1, usable_cores() // place.local_world_size)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", share)))
    if gpus:  # NCCL wants one for each rank; over gloo they may share
        local = gpu_of(place, gpus) if choice.backend == "nccl" else place.local_rank % gpus
        torch.cuda.set_device(local)
    if place.address in LOOPBACK:
        _stay_on_loopback()
    elif (name := interface_to(place.address)) and not name.startswith("lo"):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", name)

    # A tensor of the processor travels by gloo, also where those of GPUs travel by NCCL.
    backends = "cpu:gloo,cuda:nccl" if choice.backend == "nccl" else choice.backend
    wait = timedelta(seconds=timeout)
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        # torchrun has counted the ranks already.
        dist.init_process_group(
            backends,
            store=_store_of_this_attempt(place, timeout),
            rank=place.rank,
            world_size=place.world_size,
            timeout=wait,
        )
    else:
        store = _open_store(place, timeout)
        try:
            _compare_notes(store, place, choice, timeout)
        except ConnectError:
            _let_others_read(store, place)
            raise
        dist.init_process_group(
            backends,
            store=dist.PrefixStore("group", store),
            rank=place.rank,
            world_size=place.world_size,
            timeout=wait,
        )
    if checked is None:
        checked = os.environ.get("LAB_CHECKED") == "1"
    if checked and choice.backend == "gloo":
        _check_operations(place, timeout)
    if place.rank == 0 and not quiet:
        print(f"[ranks] {place.world_size} ranks over {choice.backend}: {choice.why}", flush=True)
    return rank_device()


def _check_operations(place: Place, timeout: float) -> None:
    from torch.distributed import distributed_c10d as c10d

    from helpers.hang.watch import the_watch

    if "LAB_RANK" not in os.environ:  # else the launcher has begun it already
        the_watch().begin(place.rank)
    the_watch().check(c10d._get_default_store(), timeout)


def rank_device() -> "torch.device":
    """The device that this rank computes on: its GPU, or the processor."""
    import torch

    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


def disconnect() -> None:
    """Leave the process group, if this process is in one."""
    import torch.distributed as dist

    if dist.is_initialized():
        dist.destroy_process_group()


def _stay_on_loopback() -> None:
    """Keep gloo off the machine's own name, which macOS and Windows may fail to look up."""
    if sys.platform == "darwin":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo0")
    elif sys.platform.startswith("linux"):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    elif sys.platform == "win32":
        os.environ.setdefault("USE_LIBUV", "0")


def _open_store(place: Place, timeout: float):
    """The store of all ranks: rank 0 serves it, the others call."""
    import torch.distributed as dist

    port, serves = place.port, place.rank == 0
    if "LAB_STORE_PORT" in os.environ:  # helpers.ranks serves it already, on a free port
        port, serves = int(os.environ["LAB_STORE_PORT"]), False
    where = f"{place.address}:{port}"
    _look_up(place.address)
    if not serves:
        _await_rank_0(place, port, timeout)
    try:
        return dist.TCPStore(
            place.address,
            port,
            is_master=serves,
            wait_for_workers=False,
            timeout=timedelta(seconds=timeout),
        )
    except (dist.DistError, RuntimeError, OSError) as error:
        text = str(error).lower()
        if serves and ("eaddrinuse" in text or "in use" in text):
            raise ConnectError(
                f"port {port} is in use by another program (or by ranks of an earlier run): set "
                f"MASTER_PORT to another number for every rank, or let "
                f"'python -m helpers.ranks -n {place.world_size} SCRIPT' find a free one"
            ) from None
        if serves:
            raise ConnectError(f"rank 0 cannot listen at {where}: {_first_line(error)}") from None
        raise ConnectError(
            f"rank {place.rank} called {where}, but what answers there is not rank 0 of this "
            f"run: set MASTER_PORT to another number for every rank ({_first_line(error)})"
        ) from None


def _store_of_this_attempt(place: Place, timeout: float):
    """A store that no attempt before has written into: rank 0 serves it, and tells its port.

    torchrun keeps one store for all attempts. After a restart gloo would find in it the addresses
    of the ranks that have died, and call them (pytorch issue 135712). TORCHELASTIC_RESTART_COUNT
    does not tell the attempts apart: each machine counts for itself.
    """
    import torch.distributed as dist

    wait, begun = timedelta(seconds=timeout), time.monotonic()
    kept = dist.TCPStore(place.address, place.port, is_master=False, timeout=wait)
    if place.rank == 0:
        store = dist.TCPStore(
            place.address, 0, is_master=True, wait_for_workers=False, timeout=wait
        )
        kept.set("lab/port", str(store.port))
        return store
    while True:
        port = int(kept.get("lab/port"))
        try:
            socket.create_connection((place.address, port), timeout=5).close()
            return dist.TCPStore(place.address, port, is_master=False, timeout=wait)
        except (OSError, dist.DistError) as error:  # that of the attempt before: it is gone
            if time.monotonic() - begun > timeout:
                raise ConnectError(
                    f"rank {place.rank} waited {timeout:.0f} s for the store of rank 0 at "
                    f"{place.address}:{port}: {_first_line(error)}"
                ) from None
        time.sleep(0.05)


def _look_up(address: str) -> None:
    """ConnectError where the name of rank 0's machine does not lead to a number."""
    try:
        socket.getaddrinfo(address, None)
    except (socket.gaierror, UnicodeError):
        raise ConnectError(
            f"the address {address!r} of rank 0 is not known on this machine: set MASTER_ADDR to "
            "a name or number that is, the same for every rank"
        ) from None


def _await_rank_0(place: Place, port: int, timeout: float) -> None:
    """Return as soon as something listens where rank 0 should."""
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
                "and nobody listens there: start rank 0 too"
            )
        time.sleep(0.05)


def _compare_notes(store, place: Place, choice: Choice, timeout: float) -> None:
    """Return when every rank has come, once, with the same world size and backend.

    A rank that finds a mistake leaves it in the store, so that all ranks end with the same
    sentence instead of waiting for each other.
    """

    def fail(sentence: str) -> None:
        store.set("mistake", sentence)
        raise ConnectError(sentence)

    store.add("arrived", 1)
    mine = f"{place.world_size} {choice.backend}"
    # The first to come writes it, the others read what the first one wrote.
    first = store.compare_set("terms", "", f"{mine} {place.rank}").decode()
    size, backend, whose = first.split()
    if place.world_size != int(size):
        fail(
            f"the ranks disagree about the world size: rank {whose} was told {size} and rank "
            f"{place.rank} was told {place.world_size}; give every rank the same number"
        )
    if choice.backend != backend:
        fail(
            f"the ranks disagree about the backend: rank {whose} takes {backend} and rank "
            f"{place.rank} takes {choice.backend}; name one for all with --backend"
        )
    if store.add(f"came/{place.rank}", 1) > 1:
        fail(
            f"rank {place.rank} was started twice: give each process a rank of its own, "
            f"from 0 to {place.world_size - 1}"
        )
    store.add("count", 1)

    begun, said = time.monotonic(), False
    while store.add("count", 0) < place.world_size:
        if store.check(["mistake"]):
            raise ConnectError(store.get("mistake").decode())
        waited = time.monotonic() - begun
        missing = [r for r in range(place.world_size) if store.add(f"came/{r}", 0) == 0]
        if waited > SAY_AFTER_S and not said and missing:
            said = True
            print(f"[ranks] rank {place.rank} waits for {_ranks(missing)}", flush=True)
        if waited > timeout and missing:
            fail(f"after {timeout:.0f} s {_ranks(missing)} did not come")
        if waited > timeout + LINGER_S:  # the last one was about to be counted
            fail(f"after {waited:.0f} s all ranks had come and one has ended: see what it said")
        time.sleep(0.01 if waited < 1 else 0.1)
    if store.check(["mistake"]):
        raise ConnectError(store.get("mistake").decode())


def _let_others_read(store, place: Place) -> None:
    """Rank 0 serves the store: it stays until the others have read what went wrong."""
    store.add("told", 1)
    begun = time.monotonic()
    while place.rank == 0 and "LAB_STORE_PORT" not in os.environ:
        waited = time.monotonic() - begun
        all_know = store.add("told", 0) >= store.add("arrived", 0)
        if waited > LINGER_S or (all_know and waited > TOLD_S):
            return
        time.sleep(0.02)


def _ranks(ranks: list[int]) -> str:
    return ("rank " if len(ranks) == 1 else "ranks ") + ", ".join(map(str, ranks))


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else repr(error)
