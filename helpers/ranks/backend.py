"""Which library carries the messages (NCCL between GPUs, gloo elsewhere), and which GPU it is."""

from dataclasses import dataclass

from helpers.ranks.place import Place

BACKENDS = ("auto", "gloo", "nccl")


class BackendError(ValueError):
    """The backend that was asked for cannot work here; the message says why."""


@dataclass(frozen=True)
class Choice:
    """A backend and the reason for it, as one sentence."""

    backend: str
    why: str


def require_backend(request: str) -> None:
    """Raise BackendError unless there is a backend of this name."""
    if request not in BACKENDS:
        raise BackendError(f"the backend must be one of {', '.join(BACKENDS)}, not {request!r}")


def choose_backend(request: str, place: Place, gpus: int, nccl: bool) -> Choice:
    """The backend for a rank that sees `gpus` GPUs on its machine.

    request: "auto", "gloo" or "nccl".
    nccl: whether this build of torch contains NCCL.

    NCCL needs one GPU for each rank: it refuses two ranks on one GPU.  Raises BackendError,
    with one sentence, where the request cannot be met.
    """
    ranks = place.local_world_size
    here = f"{ranks} rank{'s' if ranks > 1 else ''} and {gpus} GPU{'' if gpus == 1 else 's'} here"
    require_backend(request)
    if request == "gloo":
        return Choice("gloo", "it was asked for")
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
        return Choice("nccl", "it was asked for")
    if gpus == 0:
        return Choice("gloo", "there is no GPU here")
    if not nccl:
        return Choice("gloo", "this build of torch has no NCCL")
    if gpus < ranks:
        return Choice("gloo", f"NCCL needs a GPU for each rank, and there are {here}")
    return Choice("nccl", "each rank has a GPU of its own")


def gpu_of(place: Place, gpus: int) -> int:
    """Which of the `gpus` GPUs of its machine a rank takes: the one with its local rank.

    Raises BackendError where there is none with that number.
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
