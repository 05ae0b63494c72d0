"""What a training step and its script use: micro-batches, the check, the numbers, the trace."""

import argparse
import json
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cluster import outcome, run, trace_of
from cluster.outcome import check
from cluster.profiles import PROFILES
from cluster.ranks import whole_number
from cluster.values import PuzzleError
from lib import Model

HERE = Path(__file__).resolve().parent


def get_next_microbatch(
    global_batch_size: int, world_size: int, batch_size: int, rank: int
) -> Iterator[list[int]]:
    """Return the samples of this rank, `batch_size` at a time; the last list may be shorter.

    Rank r has samples r n to (r + 1) n - 1, n = global_batch_size / world_size. Raises PuzzleError
    where the batch does not divide.
    """
    mine = _part(global_batch_size, world_size, f"{world_size} ranks")
    return (
        [len(mine) * rank + i for i in mine[start : start + batch_size]]
        for start in _starts(len(mine), batch_size)
    )


def get_global_batch_list(global_batch_size: int, batch_size: int) -> list[list[int]]:
    """Return all samples, `batch_size` at a time. Raises PuzzleError if the batch won't divide."""
    _part(global_batch_size, batch_size, f"micro-batches of {batch_size}")
    starts = _starts(global_batch_size, batch_size)
    return [list(range(start, start + batch_size)) for start in starts]


def _part(batch: int, parts: int, words: str) -> range:
    whole_number("micro-batches", batch=batch, parts=parts)
    if batch % parts:
        raise PuzzleError(
            f"a batch of {batch} samples cannot be divided into {words}: some would be left out"
        )
    return range(batch // parts)


def _starts(samples: int, batch_size: int) -> range:
    whole_number("micro-batches", batch_size=batch_size)
    return range(0, samples, batch_size)


def get_layers(num_layers: int, world_size: int, rank: int) -> range:
    """Return the layers of a rank in a pipeline: neighbors, as equal in number as can be.

    With more ranks than layers, each of the first num_layers ranks has one, the others none.
    """
    stages = min(num_layers, world_size)
    if rank >= stages:
        return range(0)
    return range(rank * num_layers // stages, (rank + 1) * num_layers // stages)


def get_training_stats(models: Sequence[Model]) -> tuple[float, float, int]:
    """Return (time, most memory on one rank, that rank), after a check; prints them too."""
    found = outcome(models)
    print(
        f"Execution time: {found.time} {found.unit}, maximum memory: {found.memory:.0f} "
        f"{found.memory_unit} on rank {found.rank} at {found.when}"
    )
    return found.time, found.memory, found.rank


def get_model_theoretical_best_time(model: Model) -> float:
    """Return the time of the step if every rank computed at its peak rate all the time."""
    return model.dist.profile.best(model.num_layers, model.global_batch_size)


def to_chrome_trace(models: Sequence[Model], global_batch_list=None) -> dict[str, Any]:
    """Return the trace as the object that chrome://tracing and Perfetto read.

    global_batch_list: the samples of each micro-batch, which gives events its number.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = trace_of(models, global_batch_list).save(Path(folder) / "trace.json")
        return json.loads(path.read_text(encoding="utf-8"))


def write_chrome_trace(models: Sequence[Model], path: str, global_batch_list=None) -> None:
    """Write that object to a file; missing folders are made."""
    trace_of(models, global_batch_list).save(path)


# --- `python part1.py`, `python eight.py` ---


def main_of_part(
    step: Callable,
    ranks: int,
    layers: int,
    batch: int,
    micro_batch: int | None,
    profile: str | None = None,
) -> None:
    """Run one part on its default case, or another by flags, and print what it took.

    micro_batch: None where the step takes none. The trace goes to ./debug_traces/partN.json.
    """
    parser, name = _parser(step, profile)
    case = {"ranks": ranks, "layers": layers, "batch": batch}
    if micro_batch is not None:
        case["micro-batch"] = micro_batch
    for flag, value in case.items():
        parser.add_argument(f"--{flag}", type=int, default=value, help=f"({value})")
    flags = vars(parser.parse_args())
    with _refusals_told():
        sizes = [flags[flag.replace("-", "_")] for flag in case]
        models = run(step, *sizes, profile=flags["profile"])
        found = outcome(models)
        print(found)
        points, speed, room = found.points
        if name == "part4":
            print(f"score {points:g} of 5: {speed} for the MFU, {room} for the memory")
        if name == "part5":
            print(f"score {points:.1f}: the MFU in percent")
        print(f"trace: {trace_of(models).save(f'./debug_traces/{name}.json')}")


def main_of_puzzles(names: dict, cases: dict) -> None:
    """Run the puzzles that are named, or all, and print a line for each."""
    parser, _ = _parser(names["basic"], "steps")
    parser.add_argument("puzzles", nargs="*", metavar="PUZZLE", help=f"of: {', '.join(cases)}")
    flags = parser.parse_args()
    for name in flags.puzzles or cases:
        if name not in cases:
            parser.error(f"there is no puzzle {name!r}; they are: {', '.join(cases)}")
        *case, steps, memory = cases[name]
        with _refusals_told():
            models = run(names[name], *case, profile=flags.profile)
            found = outcome(models)
            star = ", a star" if found.memory < memory else ""
            print(
                f"{name}: {found.time:g} {found.unit} (target {steps:g}), memory "
                f"{found.memory:,.0f} {found.memory_unit} (target {memory:,}){star}"
            )
            trace_of(models).save(f"./debug_traces/{name}.json")


def _parser(step: Callable, profile: str | None) -> tuple[argparse.ArgumentParser, str]:
    """Return a parser with the flag of all scripts, and the name of the step's script."""
    name = Path(step.__code__.co_filename).stem
    parser = argparse.ArgumentParser(
        prog=f"python {name}.py",
        description=sys.modules[step.__module__].__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    told = f"what things cost: {', '.join(PROFILES)}"
    parser.add_argument("--profile", default=profile, help=told)
    return parser, name


@contextmanager
def _refusals_told():
    """Where the cluster refuses something, print the sentence and end with code 2."""
    try:
        yield
    except (PuzzleError, NotImplementedError, OSError) as error:
        sys.stdout.flush()
        print(f"error: {error}", file=sys.stderr)
        if place := line_of(error):
            print(f"  at {place}", file=sys.stderr)
        sys.exit(2)


def line_of(error: BaseException) -> str:
    """Return the line of the step in which an error arose: "part1.py, line 30: x = …", or ""."""
    ours = (HERE / "cluster", HERE / "lib.py", HERE / "utils.py")
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename).resolve()
        if file not in ours and file.parent not in ours:
            return f"{file.name}, line {frame.lineno}: {frame.line}"
    return ""
