"""Set the lab up and run every test, with a time for each part.

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

from parts import PARTS, ROUNDS, Part
from results import Result, summary
from run_limited import run_limited
from run_parts import Place, run_round
from stamp import venv_python

RESULTS = ROOT / "build" / "tests"
STUDENT = ".student-edition"  # stands in the student edition; see helpers/grade/tracked.py


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


def chosen(names: list[str]) -> list[list[tuple[Part, ...]]]:
    """The rounds with these parts alone; with all of them where none is named."""
    rounds = []
    for lanes in ROUNDS:
        kept = [tuple(p for p in lane if not names or p.name in names) for lane in lanes]
        rounds.append([lane for lane in kept if lane])
    return [lanes for lanes in rounds if lanes]


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
    for old in [*RESULTS.glob("*.xml"), *RESULTS.glob("*.log")]:
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
            where = Place(ROOT, venv_python(ROOT / ".venv"), RESULTS)
            for lanes in chosen(flags.parts):
                run_round(lanes, where, results.append)
    except KeyboardInterrupt:
        interrupted = True
        results.append(Result("interrupted", errors=["stopped by hand; later parts did not run"]))
    places = {name: place for place, name in enumerate([*names, "interrupted"])}
    results.sort(key=lambda result: places.get(result.name, -1))
    text = summary(results, before + time.monotonic() - begin)
    (RESULTS / "summary.txt").write_text(text + "\n", encoding="utf-8")
    print("\n" + text, flush=True)
    return 130 if interrupted else int(any(result.failed for result in results))


if __name__ == "__main__":
    sys.exit(main())
