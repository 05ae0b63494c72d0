"""What a training step and its script use: micro-batches, the check, the numbers, the trace."""

import argparse
import json
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from cluster import outcome, run, trace_of
from cluster.outcome import check
from cluster.profiles import PROFILES
from cluster.values import PuzzleError, whole_number

from helpers.plain_errors import TELLERS, plain_errors

HERE = Path(__file__).resolve().parent


def get_next_microbatch(global_batch_size: int, world_size: int, batch_size: int, rank: int):
    """Return the samples of this rank in lists of `batch_size`; the last one may be shorter.

    Rank r has samples r n to (r + 1) n - 1, n = global_batch_size / world_size. Raises PuzzleError
    where the batch does not divide.
    """
    whole_number("micro-batches", batch=global_batch_size, ranks=world_size, batch_size=batch_size)
    must_divide(global_batch_size, world_size, f"{world_size} ranks")
    mine = global_batch_size // world_size
    starts = range(rank * mine, (rank + 1) * mine, batch_size)
    return (list(range(start, min(start + batch_size, starts.stop))) for start in starts)


def get_global_batch_list(global_batch_size: int, batch_size: int) -> list[list[int]]:
    """Return all samples, `batch_size` at a time. Raises PuzzleError if the batch won't divide."""
    batches = list(get_next_microbatch(global_batch_size, 1, batch_size, 0))
    must_divide(global_batch_size, batch_size, f"micro-batches of {batch_size}")
    return batches


def must_divide(batch: int, parts: int, words: str) -> None:
    if batch % parts:
        told = f"cannot be divided into {words}: some would be left out"
        raise PuzzleError(f"a batch of {batch} samples {told}")


def get_layers(num_layers: int, world_size: int, rank: int) -> range:
    """Return the layers of a rank in a pipeline: neighbors, as equal in number as can be.

    With more ranks than layers, each of the first num_layers ranks has one, the others none.
    """
    stages = min(num_layers, world_size)
    if rank >= stages:
        return range(0)
    return range(rank * num_layers // stages, (rank + 1) * num_layers // stages)


def get_training_stats(models) -> tuple[float, float, int]:
    """Return (time, most memory on one rank, that rank), after a check; prints them too."""
    found = outcome(models)
    print(
        f"Execution time: {found.time} {found.unit}, maximum memory: {found.memory:.0f} "
        f"{found.memory_unit} on rank {found.rank} at {found.when}"
    )
    return found.time, found.memory, found.rank


def get_model_theoretical_best_time(model) -> float:
    """Return the time of the step if every rank computed at its peak rate all the time."""
    return model.dist.profile.best(model.num_layers, model.global_batch_size)


def to_chrome_trace(models, global_batch_list=None) -> dict:
    """Return the trace as the object that chrome://tracing and Perfetto read.

    global_batch_list: the samples of each micro-batch, which gives events its number.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = trace_of(models, global_batch_list).save(Path(folder) / "trace.json")
        return json.loads(path.read_text(encoding="utf-8"))


def write_chrome_trace(models, path: str, global_batch_list=None) -> None:
    """Write that object to a file; missing folders are made."""
    trace_of(models, global_batch_list).save(path)


# --- `python part1.py`, `python eight.py` ---


def main_of_part(step: Callable, profile: str | None = None, **sizes: int) -> None:
    """Run one part on its default case, or another by flags, and print what it took.

    sizes: ranks, layers, batch; and micro_batch where the step takes one. The trace goes to
    ./debug_traces/partN.json.
    """
    parser, name = _parser(step, profile), Path(sys.argv[0]).stem
    for size, value in sizes.items():
        flag = f"--{size.replace('_', '-')}"
        parser.add_argument(flag, type=int, default=value, help=f"({value})")
    flags = vars(parser.parse_args())
    with plain_errors():
        models = run(step, *map(flags.get, sizes), profile=flags["profile"])
        found = outcome(models)
        print(found)
        if name in ("part4", "part5"):
            points, speed, room = found.points
            score = f"{points:g} of 5: {speed} for the MFU, {room} for the memory"
            score = f"{points:.1f}: the MFU in percent" if found.profile == "measured" else score
            print(f"score {score}")
        print(f"trace: {trace_of(models).save(f'./debug_traces/{name}.json')}")


def main_of_puzzles(names: dict, cases: dict) -> None:
    """Run the puzzles that are named, or all, and print a line for each."""
    parser = _parser(names["basic"], "steps")
    parser.add_argument("puzzles", nargs="*", metavar="PUZZLE", help=f"of: {', '.join(cases)}")
    flags = parser.parse_args()
    with plain_errors():
        for name in flags.puzzles or cases:
            if name not in cases:
                raise PuzzleError(f"there is no puzzle {name!r}; they are: {', '.join(cases)}")
            *case, steps, memory = cases[name]
            models = run(names[name], *case, profile=flags.profile)
            found = outcome(models)
            star = ", a star" if found.memory < memory else ""
            targets = f" (target {steps:g})", f" (target {memory:,}){star}"
            time, room = targets if found.profile == "steps" else ("", "")  # in its units
            print(
                f"{name}: {found.time:g} {found.unit}{time}, memory "
                f"{found.memory:,.0f} {found.memory_unit}{room}"
            )
            trace_of(models).save(f"./debug_traces/{name}.json")


def _parser(step: Callable, profile: str | None) -> argparse.ArgumentParser:
    TELLERS.append(_with_line)
    parser = argparse.ArgumentParser(description=step.__globals__["__doc__"])
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    told = f"what things cost: {', '.join(PROFILES)}"
    parser.add_argument("--profile", default=profile, help=told)
    return parser


def _with_line(error: BaseException) -> str | None:
    place = line_of(error) if isinstance(error, PuzzleError) else ""
    return f"{error}\n  at {place}" if place else None


def line_of(error: BaseException) -> str:
    """Return the line of the step in which an error arose: "part1.py, line 30: x = …", or ""."""
    ours = (HERE / "cluster", HERE / "lib.py", HERE / "utils.py", HERE.parent / "helpers")
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename).resolve()
        if not any(file.is_relative_to(place) for place in ours):
            return f"{file.name}, line {frame.lineno}: {frame.line}"
    return ""
