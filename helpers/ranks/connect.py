"""From separate processes to one process group, with an error where torch would only wait.

`torch.distributed.init_process_group` waits, silently and for many minutes, if a rank is missing,
was started twice, or has another world size. `connect` first checks that the ranks agree, over the
same small key-value store that torch uses for its own rendezvous.

It also chooses the backend and with it what a rank computes on: NCCL moves messages between GPUs,
gloo between processors. (Gloo can add up and broadcast a GPU's tensors, but not send them.)
"""

import atexit
import os
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from helpers.private import postpone_the_compiler
from helpers.ranks.store import (
    ConnectError,
    Place,
    all_here,
    interface_to,
    keep_to_loopback,
    open_store,
    use_interfaces,
)

if TYPE_CHECKING:
    import torch

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
    counted: bool = False,
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
        counted: all ranks have their places and these arguments from one launcher, so there is
            nothing that they could disagree about.

    Raises:
        ConnectError: if a rank is missing, was started twice, or disagrees with the others.
        BackendError: if the backend can't work here.
    """
    import torch
    import torch.distributed as dist

    if dist.is_initialized():
        raise ConnectError("this process is connected already: call connect() once")
    postpone_the_compiler()
    gpus = torch.cuda.device_count()
    choice = choose_backend(backend, place, gpus, dist.is_nccl_available())
    share = max(1, usable_cores() // place.local_world_size)
    asked = os.environ.get("OMP_NUM_THREADS", "")  # OpenMP itself ignores what is no number
    torch.set_num_threads(int(asked) if asked.isdecimal() and int(asked) else share)
    if choice.backend == "nccl":
        torch.cuda.set_device(gpu_of(place, gpus))

    # CPU tensors travel over gloo even if GPU tensors travel over NCCL.
    backends = "cpu:gloo,cuda:nccl" if choice.backend == "nccl" else choice.backend
    wait = timedelta(seconds=timeout)
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":  # torchrun has counted the ranks
        from helpers.ranks.agree import store_of_this_attempt

        store = store_of_this_attempt(place, timeout)
    else:
        store = open_store(place, timeout)
        if not counted:
            from helpers.ranks.agree import agree

            agree(store, place, choice.backend, timeout)
        store = dist.PrefixStore("group", store)
    if all_here(place):
        keep_to_loopback()
    elif (name := interface_to(place.address)) and not name.startswith("lo"):
        use_interfaces({"GLOO_SOCKET_IFNAME": name})
    dist.init_process_group(
        backends, store=store, rank=place.rank, world_size=place.world_size, timeout=wait
    )
    if checked is None:
        checked = os.environ.get("LAB_CHECKED") == "1"
    checked = checked and choice.backend == "gloo"
    if checked:
        from helpers.hang.monitor import the_monitor

        if _alone():
            the_monitor().begin(place.rank)
            atexit.register(the_monitor().end)
        the_monitor().check(dist.PrefixStore("checked", store), timeout)
    if _alone() and place.world_size > 1:
        from helpers.ranks.broken import tell_broken_messages
        from helpers.ranks.watch import the_watch

        log = meeting = None
        if checked:
            from helpers.ranks.deadlock import Meeting

            log, standings = the_monitor().log, dist.PrefixStore("standings", store)
            meeting = Meeting(standings, the_monitor(), place.world_size)
        the_watch().begin(place.rank, choice.backend == "gloo", timeout, log, meeting)
        tell_broken_messages(place.rank)
    if place.rank == 0 and not quiet:
        print(f"[ranks] {place.world_size} ranks over {choice.backend}: {choice.why}", flush=True)
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

    if _alone():
        from helpers.ranks.watch import the_watch

        the_watch().end()
    if dist.is_initialized():
        dist.destroy_process_group()
    use_interfaces({})


def _alone() -> bool:
    """Return whether no launcher of ours watches this rank, so that it has to watch itself."""
    return "LAB_RANK" not in os.environ


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
            raise BackendError(
                "NCCL moves data between GPUs and there is none here (lessons see none): "
                "use --backend gloo"
            )
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


def usable_cores() -> int:
    """Return how many cores this process may use: under a limit, fewer than the machine has."""
    if hasattr(os, "process_cpu_count"):  # Python 3.13 and later
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
