"""Our buckets beside torch's DistributedDataParallel: the same model and ranks, in turn."""

import sys
from functools import partial
from pathlib import Path

import torch
from torch import nn

from bench.race import Race, in_the_same_ranks, timed_in_turn
from helpers.trace import Recorder

FOLDER = Path(__file__).resolve().parents[1] / "DP/ddp"
RANKS, ROWS, LAYERS = 2, 64, 6
STEPS = {128: 30, 512: 12, 1024: 6}  # width: steps to measure


def races() -> list[Race]:
    """A step forward, backward and averaged, at three sizes of model."""
    rows = []
    for width in STEPS:
        size = LAYERS * (width * width + width) * 4 / 1e6
        what = f"buckets, {size:.1f} MB of gradients, {RANKS} ranks"
        rows.append(in_the_same_ranks(what, "ours", "DDP", timed, RANKS, (width,)))
    return rows


def timed(width: int) -> list[float]:
    """On a rank, of each: the median of the seconds of a step."""
    sys.path.insert(0, str(FOLDER))
    from buckets import Buckets
    from torch.nn.parallel import DistributedDataParallel

    models = [_model(width), _model(width)]
    ours = Buckets(models[0], Recorder(0, enabled=False))
    theirs = DistributedDataParallel(models[1])
    x = torch.randn(ROWS, width)

    def step(model, finish) -> None:
        model(x).square().mean().backward()
        finish()

    ways = [partial(step, models[0], ours.finish), partial(step, theirs, lambda: None)]
    # The first ones make the buckets anew, too.
    return timed_in_turn(ways, STEPS[width], 3, before=[model.zero_grad for model in models])


def _model(width: int) -> nn.Module:
    torch.manual_seed(0)
    parts = [nn.Sequential(nn.Linear(width, width), nn.GELU()) for _ in range(LAYERS)]
    return nn.Sequential(*parts)
