"""What the ranks know of each other when they save, and whether it fits together."""

import hashlib
from collections.abc import Mapping

import torch

from helpers.checkpoint.errors import CheckpointError
from helpers.checkpoint.optimizer import settings_of
from helpers.checkpoint.training import WEIGHT, Training, checksum, place_of


def held(tensors: Mapping[str, torch.Tensor]) -> str:
    """A short name for what this rank holds: which tensors, and which part of each."""
    parts = sorted((key, place_of(tensors[key])) for key in tensors if key.startswith(WEIGHT))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def report(training: Training, tensors: Mapping[str, torch.Tensor], step: int) -> dict:
    """What the other ranks need to know of this one."""
    optimizer = training.optimizer
    return {
        "step": step,
        "optimizer": None if optimizer is None else type(optimizer).__name__,
        "settings": settings_of(training),
        "held": held(tensors),
        "sums": {
            (key.removeprefix(WEIGHT), place_of(tensor)): (tuple(tensor.shape), checksum(tensor))
            for key, tensor in tensors.items()
            if key.startswith(WEIGHT)
        },
    }


def require_agreement(reports: list[dict]) -> None:
    """One step, one kind of optimizer, and replicas that are equal."""
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
