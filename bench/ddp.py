"""Our buckets beside torch's DistributedDataParallel: the same model and ranks, in turn."""

import statistics
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

from bench.race import Race
from helpers.hang.monitor import the_monitor
from helpers.ranks import launch
from helpers.trace import Recorder

FOLDER = Path(__file__).resolve().parents[1] / "DP/ddp"
RANKS, ROWS, LAYERS = 2, 64, 6
STEPS = {128: 30, 512: 12, 1024: 6}  # width: steps to measure


def races() -> list[Race]:
    """A step forward, backward and averaged, at three sizes of model."""
    return [_race(width) for width in STEPS]


def _race(width: int) -> Race:
    """Both run in the same ranks, a step of each in turn: what slows one down slows the other."""
    last: list[float] = []

    def run_ours() -> float:
        times = launch(timed, RANKS, (width,), quiet=True, checked=False)
        last[:] = [1e3 * max(both) for both in zip(*times, strict=True)]
        return last[0]

    size = LAYERS * (width * width + width) * 4 / 1e6
    what = f"buckets, {size:.1f} MB of gradients, {RANKS} ranks"
    return Race(what, "ours", "DDP", run_ours, lambda: last[1], unit="ms")


def timed(width: int) -> list[float]:
    """On a rank, of each: the median of the seconds of a step."""
    sys.path.insert(0, str(FOLDER))
    from buckets import Buckets
    from torch.nn.parallel import DistributedDataParallel

    the_monitor().rest()  # as under torchrun: what explains hangs writes every message down
    torch.set_num_threads(1)
    models = [_model(width), _model(width)]
    ours = Buckets(models[0], Recorder(0, enabled=False))
    theirs = DistributedDataParallel(models[1])
    ways = [(models[0], ours.finish), (theirs, lambda: None)]
    x, times = torch.randn(ROWS, width), [[], []]
    for number in range(STEPS[width] + 3):
        for (model, finish), mine in zip(ways, times, strict=True):
            model.zero_grad()
            dist.barrier()
            begun = time.perf_counter()
            model(x).square().mean().backward()
            finish()
            if number >= 3:  # the first ones warm up, and make the buckets anew
                mine.append(time.perf_counter() - begun)
    return [statistics.median(mine) for mine in times]


def _model(width: int) -> nn.Module:
    torch.manual_seed(0)
    parts = [nn.Sequential(nn.Linear(width, width), nn.GELU()) for _ in range(LAYERS)]
    return nn.Sequential(*parts)
