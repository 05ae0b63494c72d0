"""`python part1.py`: run a step on the default cluster or another, print what it took."""

import argparse
import inspect
import sys
import traceback
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

from cluster.errors import PuzzleError
from cluster.model import run
from cluster.outcome import outcome
from cluster.profiles import PROFILES
from cluster.trace import trace_of

HERE = Path(__file__).resolve().parent


def main_of_part(
    step: Callable,
    ranks: int,
    layers: int,
    batch: int,
    micro_batch: int | None,
    profile: str | None = None,
) -> None:
    """Run one part; its trace goes to ./debug_traces/partN.json. Ends with code 2 for an error.

    The four numbers are the default case; each has a flag. micro_batch: None where the step takes
    no micro-batch. profile: in place of the usual one.
    """
    name = Path(inspect.unwrap(step).__code__.co_filename).stem
    parser = _parser(f"{name}.py", step.__module__)
    parser.set_defaults(profile=profile)
    parser.add_argument("--ranks", type=int, default=ranks, help=f"ranks ({ranks})")
    parser.add_argument("--layers", type=int, default=layers, help=f"layers ({layers})")
    parser.add_argument("--batch", type=int, default=batch, help=f"samples in all ({batch})")
    if micro_batch is not None:
        parser.add_argument(
            "--micro-batch", type=int, default=micro_batch, help=f"samples at once ({micro_batch})"
        )
    flags = parser.parse_args()
    case = [flags.ranks, flags.layers, flags.batch]
    if micro_batch is not None:
        case.append(flags.micro_batch)
    with refusals_told():
        models = run(step, *case, profile=flags.profile, machine=flags.machine)
        found = outcome(models)
        print(found)
        if name == "part5":
            print(f"score {found.points[0]:.1f}: the MFU in percent")
        if name == "part4":
            points, speed, room = found.points
            print(f"score {points:g} of 5: {speed} for the MFU, {room} for the memory")
        print(f"trace: {trace_of(models).save(f'./debug_traces/{name}.json')}")


def main_of_puzzles(names: dict, cases: dict) -> None:
    """Run puzzles and print a line for each. Ends with code 2 if one of them is wrong."""
    parser = _parser("eight.py", names["basic"].__module__)
    parser.set_defaults(profile="steps")
    parser.add_argument("puzzles", nargs="*", metavar="PUZZLE", help=f"of: {', '.join(cases)}")
    flags = parser.parse_args()
    unknown = [name for name in flags.puzzles if name not in cases]
    if unknown:
        parser.error(f"there is no puzzle {unknown[0]!r}; they are: {', '.join(cases)}")
    for name in flags.puzzles or cases:
        *case, steps, memory = cases[name]
        with refusals_told():
            models = run(names[name], *case, profile=flags.profile, machine=flags.machine)
            found = outcome(models)
            star = ", a star" if found.memory < memory else ""
            print(
                f"{name}: {found.time:g} {found.unit} (target {steps:g}), memory "
                f"{found.memory:,.0f} {found.memory_unit} (target {memory:,}){star}"
            )
            trace_of(models).save(f"./debug_traces/{name}.json")


def _parser(name: str, module: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python {name}",
        description=sys.modules[module].__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--profile", help=f"what things cost: {', '.join(PROFILES)}")
    parser.add_argument("--machine", help="a name in machines/, or a Calculon system file (.json)")
    return parser


@contextmanager
def refusals_told():
    """Where the cluster refuses something, print the sentence and end with code 2."""
    try:
        yield
    except (PuzzleError, NotImplementedError, OSError) as error:
        sys.stdout.flush()
        print(f"error: {error}", file=sys.stderr)
        if place := where(error):
            print(f"  at {place}", file=sys.stderr)
        sys.exit(2)


def where(error: BaseException, path: Path | None = None) -> str:
    """The line of the step in which an error arose: "part1.py, line 30: x = …"; "" if none.

    path: the file of the step; left out, whatever is not the cluster's own.
    """
    steps = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if _is_of(Path(frame.filename).resolve(), path)
    ]
    if not steps:
        return ""
    return f"{Path(steps[-1].filename).name}, line {steps[-1].lineno}: {steps[-1].line}"


def _is_of(file: Path, path: Path | None) -> bool:
    if path is not None:
        return file == path.resolve()
    return HERE not in file.parents and file.name not in ("lib.py", "utils.py")
