"""From separate processes to one process group, with an error where torch would only wait.

`torch.distributed.init_process_group` waits, silently and for many minutes, if a rank is missing,
was started twice, or has another world size. `connect` first checks that the ranks agree, over the
same store that torch uses. It also chooses the backend and with it what a rank computes on: NCCL
moves messages between GPUs, gloo between processors.
"""

import os
import secrets
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from helpers.hang.checked import Check
from helpers.hang.monitor import the_monitor
from helpers.ranks import watch
from helpers.ranks.store import (
    ConnectError,
    Place,
    choose_networks,
    launched_store,
    open_store,
    waiting,
)
from helpers.words import many, names

if TYPE_CHECKING:
    import torch

LINGER_S = 1.0  # how long rank 0 serves the store after a mistake, so that the others read it
BACKENDS = ("auto", "gloo", "nccl")


class BackendError(ValueError):
    """The requested backend cannot work here; the message says why."""


def connect(
    place: Place, backend: str = "auto", timeout: float = 300.0, quiet: bool = False
) -> "torch.device":
    """Join the process group of all ranks and return the device that this rank computes on.

    The ranks of one machine share its cores. With LAB_CHECKED=1 messages and collectives over gloo
    are compared across ranks before they run, and a mismatch is an error. End with `disconnect()`.

    Args:
        place: the place of this process, from `find_place`.
        backend: "auto" takes NCCL if each rank has its own GPU, gloo otherwise.
        timeout: seconds to wait for the other ranks, and for any later message.
        quiet: don't print on rank 0 which backend was chosen.

    Raises:
        ConnectError: if a rank is missing, was started twice, or disagrees with the others.
        BackendError: if the backend can't work here.
    """
    import torch
    import torch.distributed as dist

    if dist.is_initialized():
        raise ConnectError("this process is connected already: call connect() once")
    gpus = torch.cuda.device_count()
    backend, why = choose_backend(backend, place, gpus, dist.is_nccl_available())
    share = max(1, usable_cores() // place.local_world_size)
    asked = os.environ.get("OMP_NUM_THREADS", "")  # OpenMP itself ignores what is no number
    torch.set_num_threads(int(asked) if asked.isdecimal() and int(asked) else share)
    if backend == "nccl":
        torch.cuda.set_device(gpu_of(place, gpus))
    monitor, wait = the_monitor(), timedelta(seconds=timeout)
    monitor.begin(place.rank)
    watched = "LAB_RANK" in os.environ  # by our own launcher
    if watched:
        store = launched_store(0, wait)
    else:
        torchruns = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
        store = open_store(place, timeout, torchruns)
        if not torchruns:  # it has counted them
            agree(store, place, backend, timeout)
    for name, value in choose_networks(place).items():
        os.environ.setdefault(name, value)
    dist.init_process_group(
        # CPU tensors travel over gloo even if GPU tensors travel over NCCL.
        "cpu:gloo,cuda:nccl" if backend == "nccl" else backend,
        store=dist.PrefixStore("group", store),
        rank=place.rank,
        world_size=place.world_size,
        timeout=wait,
    )
    if os.environ.get("LAB_CHECKED") == "1" and backend == "gloo":
        monitor.check = Check(dist.PrefixStore("checked", store.clone()))
    if not watched and place.world_size > 1:
        monitor.explains = True
        watch.begin(place, backend == "gloo", dist.PrefixStore("standings", store.clone()))
    if place.rank == 0 and not quiet:
        print(f"[ranks] {place.world_size} ranks over {backend}: {why}", flush=True)
    return rank_device()


def rank_device() -> "torch.device":
    """Return the device that this rank computes on: its GPU with NCCL, else the CPU."""
    import torch
    import torch.distributed as dist

    if dist.is_initialized() and "nccl" in dist.get_backend():
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


def disconnect() -> None:
    """Leave the process group, if this process is in one."""
    import torch.distributed as dist

    if "LAB_RANK" not in os.environ:
        watch.end()
    if dist.is_initialized():
        dist.destroy_process_group()


def agree(store, place: Place, backend: str, timeout: float) -> None:
    """Return once every rank has come, exactly once, with the same world size and backend.

    Else raise ConnectError. A rank that finds a mistake leaves it in the store for all.
    """
    rank, size, me, mistake = place.rank, place.world_size, secrets.token_hex(8), ""
    terms = store.compare_set("terms", "", f"{size} {backend} {rank}").decode()
    their_size, their_backend, whose = terms.split()
    if str(size) != their_size:
        mistake = (
            f"the ranks disagree about the world size: rank {whose} has {their_size} and rank "
            f"{rank} has {size}; start every rank with the same number"
        )
    elif backend != their_backend:
        mistake = (
            f"the ranks disagree about the backend: rank {whose} takes {their_backend} and rank "
            f"{rank} takes {backend}; name one for all with --backend"
        )
    elif store.compare_set(f"came/{rank}", "", me).decode() != me:
        mistake = (
            f"rank {rank} was started twice: give each process a rank of its own, from 0 to "
            f"{size - 1}"
        )
    for waited, late in waiting():
        missing = [other for other in range(size) if not store.check([f"came/{other}"])]
        if waited > timeout and missing and not mistake:
            mistake = f"after {timeout:.0f} s {names(missing)} did not come"
        if mistake:
            store.set("mistake", mistake)
        elif store.check(["mistake"]):
            mistake = store.get("mistake").decode()
        if mistake:
            time.sleep(LINGER_S * (rank == 0))
            raise ConnectError(mistake)
        if not missing:
            return
        if late:
            print(f"[ranks] rank {rank} waits for {names(missing)}", flush=True)


def choose_backend(request: str, place: Place, gpus: int, nccl: bool) -> tuple[str, str]:
    """Return the backend of a rank that sees `gpus` GPUs, and why. nccl: whether torch has it.

    Raise BackendError if it can't be `request`: NCCL, for example, refuses two ranks on one GPU.
    """
    require_backend(request)
    here = f"{many(place.local_world_size, 'rank')} and {many(gpus, 'GPU')}"
    why_not = ""
    if gpus == 0:
        why_not = "there is no GPU here"
    elif not nccl:
        why_not = "this build of torch has no NCCL"
    elif gpus < place.local_world_size:
        why_not = f"NCCL needs a GPU for each rank, and there are {here} here"
    if request == "auto":
        return ("gloo", why_not) if why_not else ("nccl", "each rank has a GPU of its own")
    if request == "nccl" and why_not:
        seen = " (lessons see none)" * (gpus == 0)
        raise BackendError(f"NCCL was asked for, and {why_not}{seen}: use --backend gloo")
    return request, "it was asked for"


def require_backend(request: str) -> None:
    """Raise BackendError if there is no backend of this name."""
    if request not in BACKENDS:
        raise BackendError(f"the backend must be one of {', '.join(BACKENDS)}, not {request!r}")


def gpu_of(place: Place, gpus: int) -> int:
    """Return which of its machine's `gpus` GPUs a rank takes: the one with its local rank."""
    if place.local_rank < gpus:
        return place.local_rank
    some = "there is one GPU, number 0" if gpus == 1 else f"the GPUs are 0 to {gpus - 1}"
    there = some if gpus else "there is no GPU"
    raise BackendError(
        f"rank {place.rank} has LOCAL_RANK {place.local_rank} on its machine, and {there} here: "
        "start at most one rank for each GPU of a machine; if each rank is shown one GPU of its "
        "own (CUDA_VISIBLE_DEVICES), let it see all of them; or use --backend gloo"
    )


def usable_cores() -> int:
    """Return how many cores this process may use: under a limit, fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
