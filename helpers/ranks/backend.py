"""Which library carries the messages: NCCL between GPUs, gloo between everything else."""

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


def choose_backend(request: str, place: Place, gpus: int, nccl: bool) -> Choice:
    """The backend for a rank that sees `gpus` GPUs on its machine.

    request: "auto", "gloo" or "nccl".
    nccl: whether this build of torch contains NCCL.

    NCCL needs one GPU for each rank: it refuses two ranks on one GPU.  Raises BackendError,
    with one sentence, where the request cannot be met.
    """
    ranks = place.local_world_size
    here = f"{ranks} rank{'s' if ranks > 1 else ''} and {gpus} GPU{'' if gpus == 1 else 's'} here"
    if request not in BACKENDS:
        raise BackendError(f"the backend must be one of {', '.join(BACKENDS)}, not {request!r}")
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
