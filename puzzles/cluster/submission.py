"""Run somebody's step in a process of its own, and give its tape, its error, or why there is none.

The process is told one order on stdin, and writes its answers as JSON to what was its stdout;
whatever the step prints goes nowhere. Only the tapes count, and who asked does them again.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from cluster.errors import PuzzleError
from cluster.run import run
from cluster.script import where
from cluster.tape import tape_of
from helpers.grade.tree import end_tree

PUZZLES = Path(__file__).resolve().parents[1]
GIGABYTES = 4.0
MOST_BYTES = 200_000_000


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
    it started. It may use 4 GB of memory where the system can hold it to that.
    """
    order = {
        "path": str(Path(path).resolve()), "function": function, "seconds": seconds,
        "cases": [[*case] for case in cases],
    }  # fmt: skip
    kind, text = _answer(order, seconds * len(cases))
    if kind == "error":
        return [(kind, text)] * len(cases)
    try:
        answers = [(str(kind), str(text)) for kind, text in json.loads(text)]
    except (ValueError, TypeError):
        answers = []
    if len(answers) != len(cases):
        return [("error", "its process gave an answer that makes no sense")] * len(cases)
    return answers


def _answer(order: dict, seconds: float) -> tuple[str, str]:
    """("text", what the process of an order wrote) or ("error", why there is none)."""
    folders = [str(PUZZLES), str(PUZZLES.parent)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(folders), "PYTHONUTF8": "1"}
    with tempfile.TemporaryDirectory(prefix="puzzle-", ignore_cleanup_errors=True) as place:
        with open(Path(place, "answer"), "w+b") as out:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "cluster.submission"],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.DEVNULL,
                cwd=place,
                env=environment,
                start_new_session=os.name == "posix",
            )
            try:
                process.communicate(json.dumps(order).encode(), timeout=seconds)
            except subprocess.TimeoutExpired:
                return "error", f"it did not end within {seconds:g} s, and was stopped"
            finally:
                end_tree(process)
            out.seek(0)
            answer = out.read(MOST_BYTES + 1)
    if len(answer) > MOST_BYTES:
        return "error", f"it wrote more than {MOST_BYTES:,} bytes"
    if not answer:
        code = process.returncode
        return "error", f"its process ended without an answer, with exit status {code}"
    return "text", answer.decode(errors="replace")


def main() -> None:
    """Serve one order."""
    answer = os.dup(1)
    order = json.load(sys.stdin)
    os.dup2(2, 1)
    _limit_memory()
    _only_the_library()
    answers = serve(Path(order["path"]), order["function"], order["cases"], order["seconds"])
    with open(answer, "wb") as pipe:
        pipe.write(json.dumps(answers).encode())


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


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    size = int(GIGABYTES * 2**30)
    if most == resource.RLIM_INFINITY or size < most:
        resource.setrlimit(resource.RLIMIT_AS, (size, most))


if __name__ == "__main__":
    main()
