"""From separate processes to one process group, with an error where torch would only wait.

`torch.distributed.init_process_group` waits, silently and for many minutes, if a rank is missing,
was started twice, or has another world size.  `connect` first checks that the ranks agree, over
the same small key-value store that torch uses for its own rendezvous.

It also chooses the backend (NCCL between GPUs, gloo elsewhere) and the GPU of each rank.
"""

import os
import secrets
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from helpers.hang.notes import KEY, Notes, text
from helpers.ranks.place import Place, usable_cores
from helpers.ranks.store import (
    SAY_AFTER_S,
    ConnectError,
    all_here,
    interface_to,
    keep_to_loopback,
    open_store,
    store_of_this_attempt,
)
from helpers.words import names

if TYPE_CHECKING:
    import torch

LINGER_S = 10.0  # how long rank 0 serves the store after an error, so that the others read it
READ_S = 1.0  # and no longer than this once every rank that arrived has read it
BACKENDS = ("auto", "gloo", "nccl")


class BackendError(ValueError):
    """The requested backend cannot work here; the message says why."""


@dataclass(frozen=True)
class BackendChoice:
    """A backend and the reason for it, as one sentence."""

    backend: str
    why: str


def connect(
    place: Place,
    backend: str = "auto",
    timeout: float = 300.0,
    quiet: bool = False,
    checked: bool | None = None,
) -> "torch.device":
    """Join the process group of all ranks and return the device that this rank computes on.

    Also sets the number of threads, so that the ranks of one machine share its cores. End with
    `disconnect()`.

    Args:
        place: the place of this process, from `find_place`.
        backend: "auto" takes NCCL if each rank has its own GPU, gloo otherwise.
        timeout: seconds to wait for the other ranks, and for any later message.
        quiet: don't print on rank 0 which backend was chosen.
        checked: compare messages and collectives across ranks before they run, and refuse a
            mismatch with an error that names it (over gloo only). None: if the launcher asks for
            it (LAB_CHECKED=1).

    Raises:
        ConnectError: if a rank is missing, was started twice, or disagrees with the others.
        BackendError: if the backend can't work here.
    """
    import torch
    import torch.distributed as dist

    if dist.is_initialized():
        raise ConnectError("this process is connected already: call connect() once")
    gpus = torch.cuda.device_count()
    choice = choose_backend(backend, place, gpus, dist.is_nccl_available())
    share = max(1, usable_cores() // place.local_world_size)
    asked = os.environ.get("OMP_NUM_THREADS", "")  # OpenMP itself ignores what is no number
    torch.set_num_threads(int(asked) if asked.isdecimal() and int(asked) else share)
    if gpus:  # NCCL needs one for each rank; with gloo they may share
        local = gpu_of(place, gpus) if choice.backend == "nccl" else place.local_rank % gpus
        torch.cuda.set_device(local)
    if all_here(place):
        keep_to_loopback()
    elif (name := interface_to(place.address)) and not name.startswith("lo"):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", name)

    # CPU tensors travel over gloo even if GPU tensors travel over NCCL.
    backends = "cpu:gloo,cuda:nccl" if choice.backend == "nccl" else choice.backend
    wait = timedelta(seconds=timeout)
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        # torchrun has counted the ranks already.
        dist.init_process_group(
            backends,
            store=store_of_this_attempt(place, timeout),
            rank=place.rank,
            world_size=place.world_size,
            timeout=wait,
        )
    else:
        store = open_store(place, timeout)
        store.add("arrived", 1)
        try:
            _check_ranks_agree(Notes(store), place, choice, timeout)
        except ConnectError:
            _linger_for_readers(store, place)
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
    checked = checked and choice.backend == "gloo"
    if checked:
        from helpers.hang.monitor import the_monitor

        if _alone():
            the_monitor().begin(place.rank)
        the_monitor().check(dist.distributed_c10d._get_default_store(), timeout)
    if _alone() and place.world_size > 1:
        from helpers.ranks.broken import tell_broken_messages
        from helpers.ranks.watch import the_watch

        the_watch().begin(place.rank, gpus == 0, the_monitor().log if checked else None)
        tell_broken_messages(place.rank)
    if place.rank == 0 and not quiet:
        print(f"[ranks] {place.world_size} ranks over {choice.backend}: {choice.why}", flush=True)
    return rank_device()


def rank_device() -> "torch.device":
    """Return the device that this rank computes on: its GPU, or the CPU."""
    import torch

    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


def disconnect() -> None:
    """Leave the process group, if this process is in one."""
    import torch.distributed as dist

    if _alone():
        from helpers.ranks.watch import the_watch

        the_watch().end()
    if dist.is_initialized():
        dist.destroy_process_group()


def _alone() -> bool:
    """Return whether no launcher of ours watches this rank, so that it has to watch itself."""
    return "LAB_RANK" not in os.environ


def _check_ranks_agree(notes: Notes, place: Place, choice: BackendChoice, timeout: float) -> None:
    """Return once every rank has arrived, exactly once, with the same world size and backend.

    A rank that finds a mistake leaves it in the store, so that all ranks end with the same
    sentence instead of waiting for each other.

    Raises:
        ConnectError: if the ranks disagree, one was started twice, or one did not come in time.
    """

    def fail(sentence: str) -> None:
        notes.leave("mistake", sentence)
        raise ConnectError(sentence)

    def unsigned() -> list[int]:
        return [rank for rank in range(place.world_size) if notes.unsigned(_came(rank))]

    # The first rank to arrive writes its terms, and the others compare theirs with them.
    mine = [place.world_size, choice.backend, place.rank]
    size, backend, whose = notes.leave_first("terms", mine, _terms)
    if place.world_size != size:
        fail(
            f"the ranks disagree about the world size: rank {whose} has {size} and rank "
            f"{place.rank} has {place.world_size}; start every rank with the same number"
        )
    if choice.backend != backend:
        fail(
            f"the ranks disagree about the backend: rank {whose} takes {backend} and rank "
            f"{place.rank} takes {choice.backend}; name one for all with --backend"
        )
    me = secrets.token_hex(8)
    if notes.leave_first(_came(place.rank), me, text) != me:
        fail(
            f"rank {place.rank} was started twice: give each process a rank of its own, "
            f"from 0 to {place.world_size - 1}"
        )
    begun, said = time.monotonic(), False
    while notes.look([_came(rank) for rank in range(place.world_size)], text) is None:
        if mistake := notes.look(["mistake"], text):
            raise ConnectError(*mistake)
        waited = time.monotonic() - begun
        missing = [r for r in range(place.world_size) if notes.look([_came(r)], text) is None]
        if waited > SAY_AFTER_S and not said and missing:
            said = True
            odd = f", and {names(odd)} came without its {KEY}" if (odd := unsigned()) else ""
            print(f"[ranks] rank {place.rank} waits for {names(missing)}{odd}", flush=True)
        if waited > timeout and missing:
            if odd := unsigned():
                fail(
                    f"{names(odd)} came without the {KEY} of rank {place.rank}: set {KEY} to the "
                    "same text for every rank, or for none"
                )
            fail(f"after {timeout:.0f} s {names(missing)} did not come")
        time.sleep(0.01 if waited < 1 else 0.1)
    if mistake := notes.look(["mistake"], text):
        raise ConnectError(*mistake)


def _came(rank: int) -> str:
    return f"came/{rank}"


def _terms(facts) -> tuple[int, str, int]:
    """Check the terms of the first rank: its world size, its backend, and which rank it is."""
    size, backend, rank = facts
    if [type(fact) for fact in facts] != [int, str, int]:
        raise ValueError("not the terms of a rank")
    return size, backend, rank


def _linger_for_readers(store, place: Place) -> None:
    """Keep rank 0, which serves the store, alive until the others have read what went wrong."""
    store.add("read", 1)  # a counter can't be signed; a forged one costs LINGER_S at most
    begun = time.monotonic()
    while place.rank == 0 and "LAB_STORE_PORT" not in os.environ:
        waited = time.monotonic() - begun
        all_know = store.add("read", 0) >= store.add("arrived", 0)
        if waited > LINGER_S or (all_know and waited > READ_S):
            return
        time.sleep(0.02)


def require_backend(request: str) -> None:
    """Raise BackendError if there is no backend of this name."""
    if request not in BACKENDS:
        raise BackendError(f"the backend must be one of {', '.join(BACKENDS)}, not {request!r}")


def choose_backend(request: str, place: Place, gpus: int, nccl: bool) -> BackendChoice:
    """Choose the backend of a rank that sees `gpus` GPUs on its machine.

    NCCL needs one GPU for each rank: it refuses two ranks on one GPU.

    Args:
        request: "auto", "gloo" or "nccl".
        nccl: whether this build of torch contains NCCL.

    Raises:
        BackendError: if the request can't be met.
    """
    ranks = place.local_world_size
    here = f"{ranks} rank{'s' if ranks > 1 else ''} and {gpus} GPU{'' if gpus == 1 else 's'} here"
    require_backend(request)
    if request == "gloo":
        return BackendChoice("gloo", "it was asked for")
    if request == "nccl":
        if gpus == 0:
            raise BackendError("NCCL moves data between GPUs and there is none: use --backend gloo")
        if not nccl:
            raise BackendError("this build of torch has no NCCL: use --backend gloo")
        if gpus < ranks:
            raise BackendError(
                f"NCCL needs a GPU for each rank, but there are {here}: use --backend gloo, "
                "or fewer ranks"
            )
        return BackendChoice("nccl", "it was asked for")
    if gpus == 0:
        return BackendChoice("gloo", "there is no GPU here")
    if not nccl:
        return BackendChoice("gloo", "this build of torch has no NCCL")
    if gpus < ranks:
        return BackendChoice("gloo", f"NCCL needs a GPU for each rank, and there are {here}")
    return BackendChoice("nccl", "each rank has a GPU of its own")


def gpu_of(place: Place, gpus: int) -> int:
    """Return which of its machine's `gpus` GPUs a rank takes: the one with its local rank.

    Raises:
        BackendError: if there is no GPU with that number.
    """
    if place.local_rank < gpus:
        return place.local_rank
    there = "there is one GPU, number 0" if gpus == 1 else f"the GPUs are 0 to {gpus - 1}"
    if gpus == 0:
        there = "there is no GPU"
    raise BackendError(
        f"rank {place.rank} has LOCAL_RANK {place.local_rank} on its machine, and {there} here: "
        "start at most one rank for each GPU of a machine; if each rank is shown one GPU of its "
        "own (CUDA_VISIBLE_DEVICES), let it see all of them; or use --backend gloo"
    )
