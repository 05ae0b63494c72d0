"""The training puzzles' cluster: its own driver beside asyncio, and what a tape costs."""

import asyncio
import sys
from pathlib import Path

from bench.race import Race, seconds_of

PUZZLES = Path(__file__).resolve().parents[1] / "puzzles"
ZERO = (32, 64, 256, 8)  # ranks, layers, samples, samples of a micro-batch
ONE_F_ONE_B = (64, 64, 1024, 1)


def races() -> list[Race]:
    """ZeRO-3 and 1F1B, driven by the cluster and by asyncio; what a tape costs."""
    if str(PUZZLES) not in sys.path:
        sys.path.append(str(PUZZLES))
    return [
        _drivers("ZeRO-3 on 32 ranks, 64 layers", "part1", ZERO, 5),
        _drivers("1F1B on 64 ranks, 1,024 micro-batches", "part3", ONE_F_ONE_B, 2),
        Race(
            "ZeRO-3 on 32 ranks with a tape, and the tape played again",
            "run, tape and replay",
            "run",
            lambda: seconds_of(_taped),
            lambda: seconds_of(lambda: _own("part1", ZERO)),
            note="the simulated step takes 0.184362 s",
        ),
    ]


def _drivers(name: str, part: str, case: tuple, runs: int) -> Race:
    def ours() -> float:
        return seconds_of(lambda: _own(part, case))

    def theirs() -> float:
        return seconds_of(lambda: asyncio.run(_by_asyncio(part, case)))

    return Race(name, "own driver", "asyncio", ours, theirs, runs=runs)


def _step(part: str):
    return getattr(__import__(part), f"{part}_training_loop")


def _own(part: str, case: tuple, **settings):
    from cluster import run

    return run(_step(part), *case, profile="classic", **settings)


async def _by_asyncio(part: str, case: tuple) -> list:
    from cluster import Dist, Model

    ranks, layers, samples, micro = case
    dist = Dist(ranks, "classic")
    models = [Model(rank, dist, layers, samples) for rank in range(ranks)]
    return await asyncio.gather(*(_step(part)(model, micro) for model in models))


def _taped():
    from cluster.tape import replay, tape_of

    models = _own("part1", ZERO, keep_tape=True)
    return replay(tape_of(models), ZERO[:3], profile="classic")
