"""Run somebody's step in a process of its own, and give its tape, its error, or why there is none.

Whatever the step prints goes nowhere. Only the tapes count, and who asked does them again.
"""

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import NamedTuple

from cluster.apart import PUZZLES, ask_apart
from cluster.errors import PuzzleError
from cluster.run import run
from cluster.script import where
from cluster.tape import tape_of
from helpers.grade.words import cut

MOST_TEXT = 2_000  # characters of an error


class Case(NamedTuple):
    """A run to make. more: the step's own arguments. settings: profile, machine, as for `run`."""

    ranks: int
    layers: int
    samples: int
    more: tuple = ()
    settings: dict = {}


def ask(path: Path, function: str, cases: list[Case], seconds: float) -> list[tuple[str, str]]:
    """For each case ("tape", the tape), ("error", a sentence) or ("todo", the stub's message).

    path: the file with the step. seconds: for each case; then the process is ended, with all that
    it started. Nothing else confines the step: it runs as you, and can read and write your files.
    """
    order = {
        "path": str(Path(path).resolve()), "function": function, "seconds": seconds,
        "cases": [[*case] for case in cases],
    }  # fmt: skip
    found, why = ask_apart("cluster.submission", order, seconds * len(cases), "its process")
    if why:
        return [("error", why)] * len(cases)
    return read_answers(found, len(cases))


def read_answers(found: object, count: int) -> list[tuple[str, str]]:
    """What `ask` gives, of whatever came back from where a submission ran."""
    pairs = found if isinstance(found, list) and len(found) == count else [None] * count
    return [_read(pair) for pair in pairs]


def _read(pair: object) -> tuple[str, str]:
    match pair:
        case [("tape" | "error" | "todo") as kind, str(text)]:
            return kind, text if kind == "tape" else cut(text, MOST_TEXT)
    return "error", "its process gave an answer that makes no sense"


def answer(order: dict) -> list[tuple[str, str]]:
    """Serve one order, in that process."""
    _only_the_library()
    return serve(Path(order["path"]), order["function"], order["cases"], order["seconds"])


def serve(path: Path, function: str, cases: list, seconds: float) -> list[tuple[str, str]]:
    """Run the step on every case."""
    answers = []
    for ranks, layers, samples, more, settings in cases:
        try:
            step = load_step(path, function)
            models = run(
                step, ranks, layers, samples, *more, keep_tape=True, seconds=seconds, **settings
            )
            answers.append(("tape", tape_of(models)))
        except NotImplementedError as todo:
            answers.append(("todo", str(todo)))
        except BaseException as error:
            told = str(error)
            if not isinstance(error, PuzzleError):
                told = f"{type(error).__name__}: {told}" if told else type(error).__name__
            place = where(error, path)
            answers.append(("error", f"{told} (at {place})" if place else told))
    return answers


def load_step(path: Path, function: str):
    """The function of a file. Raises PuzzleError where there is none."""
    sys.path.append(str(path.parent))  # last: a file there takes the place of no library
    try:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    except FileNotFoundError:
        raise PuzzleError(f"there is no file {path.name}") from None
    if not callable(getattr(module, function, None)):
        raise PuzzleError(f"{path.name} has no function {function}: keep its name")
    return getattr(module, function)


def _only_the_library() -> None:
    """Keep lib, utils and cluster as they are here, and the steps beside them out of reach: what a
    submission imports besides is its own."""
    for name in ("lib", "utils"):
        importlib.import_module(name)
    sys.path[:] = [folder for folder in sys.path if Path(folder).resolve() != PUZZLES]
