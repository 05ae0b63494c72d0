"""Write a checkpoint: every rank its part, all of it or nothing."""

import hashlib
import os
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.api import CheckpointException

from helpers.checkpoint import folder as folders
from helpers.checkpoint.errors import CheckpointError, by_all, by_first, here, sentence_of
from helpers.checkpoint.training import (
    WEIGHT,
    Training,
    checksum,
    mesh_place,
    pack_settings,
    settings_of,
    state_of,
)
from helpers.checkpoint.whole import FORMAT, files_of, text_of

RANDOM = "random/"


def save(
    folder: str | os.PathLike,
    training: Training,
    step: int,
    position: Any = None,
    keep: int = 2,
) -> Path:
    """Save the training after `step` steps; all ranks call it together. Returns the new path.

    folder: one for each training, which all ranks see. What stands in it: see
        `helpers.checkpoint.folder`.
    training: what this rank holds. Tensors that several ranks hold are written once, by the rank
        that has least to write.
    step: how many steps are done; more than at the last save.
    position: where the data goes on, on any layout; what JSON can hold, the same on all ranks.
    keep: how many checkpoints stay; older ones are removed when the new one is whole.

    Also saved: the state of each rank's random numbers (torch's). It ends when the checkpoint is on
    the disk and has its name; what stops a rank before leaves the earlier ones as they are.

    Raises:
        CheckpointError: the same on all ranks: a folder that cannot be used or that another run is
            saving to, a full disk, ranks that disagree. Then nothing has changed, and the draft is
            removed.
    """
    folder = Path(folder)
    rank, size = here()
    tensors: dict[str, torch.Tensor] = {}

    def prepare() -> dict:
        _require_plain(step, position, keep)
        tensors.update({WEIGHT + name: tensor for name, tensor in training.weights().items()})
        tensors.update(state_of(training) | random_state())
        return report(training, tensors, step)

    reports = by_all(prepare)
    require_agreement(reports)
    files: dict[str, tuple[int, int]] = {}

    def finish() -> str:
        facts = {
            "format": FORMAT,
            "step": step,
            "position": position,
            "ranks": size,
            "optimizer": reports[0]["optimizer"],
            "settings": pack_settings({n: s for r in reports for n, s in r["settings"].items()}),
            "held": [each["held"] for each in reports],
            "files": files,
        }
        return str(folders.finish(draft, folder, facts, keep))

    with ExitStack() as stack:  # on rank 0, the folder's lock
        draft = Path(by_first(lambda: str(stack.enter_context(folders.drafted(folder, step)))))
        _write(tensors, draft)
        for found in by_all(lambda: files_of(draft, rank)):
            files.update(found)
        return Path(by_first(finish))


def random_state() -> dict[str, torch.Tensor]:
    """Return the state of torch's random numbers on this rank, on the CPU and on its GPU."""
    rank, _ = here()
    states = {f"{RANDOM}{rank}/cpu": torch.get_rng_state()}
    if torch.cuda.is_initialized():
        states[f"{RANDOM}{rank}/cuda"] = torch.cuda.get_rng_state()
    return states


def _write(tensors: Mapping[str, torch.Tensor], draft: Path) -> None:
    """Write all tensors into the draft, each once."""
    connected = here()[1] > 1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that one process alone is no mistake
            writer = dcp.FileSystemWriter(draft)
            dcp.save(dict(tensors), storage_writer=writer, no_dist=not connected)
    except CheckpointException as error:
        rank, (cause, _) = min(error.failures.items())
        where = f"rank {rank}: " if connected else ""
        raise CheckpointError(where + sentence_of(cause, draft)) from error
    except OSError as error:
        raise CheckpointError(sentence_of(error, draft)) from error


def _require_plain(step: int, position: Any, keep: int) -> None:
    for name, value, least in (("step", step, 0), ("keep", keep, 1)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise CheckpointError(f"{name} must be a whole number, {least} or more, not {value!r}")
    try:
        text_of({"settings": [[[position]]]})  # as deep as anything that is written
    except (TypeError, ValueError, RecursionError):
        raise CheckpointError(
            f"position is a {type(position).__name__}, which JSON cannot hold: give numbers, "
            "words, and lists or dictionaries of them"
        ) from None


def held(tensors: Mapping[str, torch.Tensor]) -> str:
    """Return a short name for what this rank holds: which tensors, and which part of each."""
    parts = sorted((key, mesh_place(tensors[key])) for key in tensors if key.startswith(WEIGHT))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def report(training: Training, tensors: Mapping[str, torch.Tensor], step: int) -> dict:
    """Return what the other ranks need to know about this one."""
    optimizer = training.optimizer
    return {
        "step": step,
        "optimizer": None if optimizer is None else type(optimizer).__name__,
        "settings": settings_of(training),
        "held": held(tensors),
        "sums": {
            (key.removeprefix(WEIGHT), mesh_place(tensor)): (tuple(tensor.shape), checksum(tensor))
            for key, tensor in tensors.items()
            if key.startswith(WEIGHT)
        },
    }


def require_agreement(reports: list[dict]) -> None:
    """Raise CheckpointError unless step, optimizer, and the values of replicas are the same."""
    for what in ("step", "optimizer"):
        for rank, report in enumerate(reports):
            if report[what] != reports[0][what]:
                raise CheckpointError(
                    f"rank 0 saves {what} {reports[0][what]} and rank {rank} {report[what]}: all "
                    "ranks must save the same training after the same step"
                )
    first: dict = {}
    for rank, report in enumerate(reports):
        for key, seen in report["sums"].items():
            other, theirs = first.setdefault(key, (rank, seen))
            if theirs != seen:
                raise CheckpointError(
                    f"ranks {other} and {rank} hold different values of {key[0]}: if they are "
                    "replicas, average their gradients in every step; if they are different "
                    "stages, give Training(name=...), which names them as in the whole model"
                )
