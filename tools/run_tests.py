"""Set the lab up and run every test, part after part, with a time for each.

    python tools/run_tests.py                 everything
    python tools/run_tests.py lint tests      set-up and these parts
    python tools/run_tests.py --list          the names of the parts

Ends with a table and with one line in pytest's own form. Needs only Python's own library to start.

In the student edition it checks the exercises, as `python -m helpers.grade` does: the tests of the
lab need the solutions.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if sys.version_info < (3, 11):  # install.py says what to do
    sys.exit(subprocess.call([sys.executable, str(ROOT / "tools" / "install.py")]))

import argparse
import os
import time
from dataclasses import dataclass

from results import Result, read, summary
from run_limited import run_limited
from stamp import venv_python

RESULTS = ROOT / "build" / "tests"
STUDENT = ".student-edition"  # stands in the student edition; see helpers/grade/tracked.py


@dataclass(frozen=True)
class Part:
    """One part: commands that run one after the other, each in its own process.

    commands: arguments of the environment's Python. A command that starts with `-m pytest` has its
    tests counted; any other counts as one error where it fails.
    minutes: the part is stopped after so long.
    """

    name: str
    commands: tuple[tuple[str, ...], ...]
    minutes: float = 10


def pytest(*arguments: str) -> tuple[str, ...]:
    # One module that cannot be imported does not keep the others from being tested.
    return ("-m", "pytest", "-q", "--continue-on-collection-errors", *arguments)


# A lab folder with top-level names of its own is a part of its own, one line each, and is left out
# of "tests" by one more entry in OWN_PROCESS.
OWN_PROCESS = ("tests/notebooks", "tests/browser", "tests/grade", "tests/puzzles", "tests/gpt2")
PARTS = (
    Part("lint", (("-m", "ruff", "check"), ("-m", "ruff", "format", "--check")), minutes=2),
    Part(
        "tests", (pytest("tests", *(f"--ignore={folder}" for folder in OWN_PROCESS)),), minutes=12
    ),
    Part("exercises", (pytest("tests/grade"),), minutes=8),
    Part("puzzles", (pytest("tests/puzzles"),), minutes=2),
    Part("gpt2", (pytest("tests/gpt2"), pytest("gpt2/tests")), minutes=4),
    Part("notebooks", (pytest("tests/notebooks"),), minutes=11),
    Part("browser", (pytest("tests/browser"),), minutes=4),
    Part("student edition", (("-m", "helpers.grade.student"),), minutes=2),
)


def run_part(part: Part, python: Path, results: Path, root: Path) -> Result:
    """Run every command of a part, also after one has failed."""
    begin = time.monotonic()
    result = Result(part.name)
    deadline = begin + 60 * part.minutes
    for number, command in enumerate(part.commands):
        report = results / f"{part.name.replace(' ', '-')}-{number}.xml"
        counted = command[:2] == ("-m", "pytest")
        extra = (f"--junitxml={report}",) if counted else ()
        code = run_limited([str(python), *command, *extra], root, deadline - time.monotonic())
        if counted and report.exists():
            result.add(read(report))
        said = " ".join(("python", *command))
        if code is None:
            result.errors.append(f"{said}: stopped after {part.minutes:g} minutes")
        elif code != 0 and not (counted and result.failures):
            result.errors.append(f"{said}: ended with code {code}")
        elif counted and not report.exists():
            result.errors.append(f"{said}: a test ended the whole process")
    result.seconds = time.monotonic() - begin
    return result


def set_up(flags: argparse.Namespace) -> Result:
    """The first part, under the interpreter that runs this."""
    begin = time.monotonic()
    command = [sys.executable, str(ROOT / "tools" / "install.py"), "--extras", "test"]
    command += ["--this-python"] if flags.this_python else []
    code = run_limited(command, ROOT, 60 * 25)
    errors = [] if code == 0 else ["the set-up failed: the reason stands above"]
    return Result("set-up", seconds=time.monotonic() - begin, errors=errors)


def earlier(text: str) -> list[Result]:
    """Parts that a caller ran before, from LAB_EARLIER: "name=seconds;name=seconds"."""
    pairs = [entry.rpartition("=") for entry in text.split(";") if entry]
    return [Result(name, seconds=float(seconds)) for name, _, seconds in pairs]


def check_exercises(root: Path, python: Path) -> int:
    """What stands for the tests in the student edition: 0 if all is done, 1 if not."""
    print(
        "\nThis is the student edition: make test checks your exercises, all of them. (The tests "
        "of the lab need the solutions.) One alone: python -m helpers.grade DP-1",
        flush=True,
    )
    code = run_limited([str(python), "-m", "helpers.grade"], root, 60 * 60)
    if code is None:
        print("stopped after 60 minutes", file=sys.stderr)
    return 1 if code is None else code


def main(arguments: list[str] | None = None) -> int:
    names = [part.name for part in PARTS]
    parser = argparse.ArgumentParser(description="Set the lab up and run its tests.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of: {', '.join(names)}")
    parser.add_argument("--list", action="store_true", help="print the names of the parts")
    parser.add_argument("--this-python", action="store_true", help="see tools/install.py")
    flags = parser.parse_args(arguments)
    unknown = [name for name in flags.parts if name not in names]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; the parts are: {', '.join(names)}")
    if flags.list:
        print("\n".join(names))
        return 0

    # Set-up leaves compiling to the first import: without this, every process would compile anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    RESULTS.mkdir(parents=True, exist_ok=True)
    for old in RESULTS.glob("*.xml"):
        old.unlink()
    begin = time.monotonic()
    results = earlier(os.environ.get("LAB_EARLIER", ""))
    before = sum(result.seconds for result in results)
    interrupted = False
    try:
        results.append(set_up(flags))
        if (ROOT / STUDENT).exists() and not (flags.parts or results[-1].errors):
            return check_exercises(ROOT, venv_python(ROOT / ".venv"))
        if not results[-1].errors:
            for part in PARTS:
                if not flags.parts or part.name in flags.parts:
                    print(f"\n== {part.name} ==", flush=True)
                    results.append(run_part(part, venv_python(ROOT / ".venv"), RESULTS, ROOT))
    except KeyboardInterrupt:
        interrupted = True
        results.append(Result("interrupted", errors=["stopped by hand; later parts did not run"]))
    text = summary(results, before + time.monotonic() - begin)
    (RESULTS / "summary.txt").write_text(text + "\n", encoding="utf-8")
    print("\n" + text, flush=True)
    return 130 if interrupted else int(any(result.failed for result in results))


if __name__ == "__main__":
    sys.exit(main())
