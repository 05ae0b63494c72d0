"""Set the lab up and run its tests.

    python tools/run_tests.py              make test: what a change must keep, in a few minutes
    python tools/run_tests.py pipeline     one package: the folder or file of tests/ with this name
    python tools/run_tests.py --all        make test-all: what is slow, too
    python tools/run_tests.py --long       make test-long: the further cases that --all leaves out

Ends with the time of each part and one line in pytest's own form. With --all up to three tests of a
part that failed run again, with nothing beside them, and the closing lines name those that passed
only then: what fails twice has failed. In the student edition it checks
the exercises, as `python -m helpers.grade` does: the tests of the lab need the solutions.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if sys.version_info < (3, 11):  # install.py says what to do
    sys.exit(subprocess.call([sys.executable, str(ROOT / "tools" / "install.py")]))

import argparse
import contextlib
import os
import signal
import time
from collections import Counter
from xml.etree import ElementTree

from install import venv_python

RESULTS = ROOT / "build" / "tests"
STUDENT = ".student-edition"  # stands in the student edition; see helpers/grade/tracked.py
# One module that cannot be imported does not keep the others from being tested.
PYTEST = ("-m", "pytest", "-q", "--continue-on-collection-errors", "--durations=10")
# Of two workers one runs all that starts ranks, one test after the other.
TOGETHER = (*PYTEST, "-n", "2")
FOLDERS = ("tests", "gpt2/tests")
FEW = 3  # tests of a part that may fail for what else the machine did
LESSONS = "tests/notebooks/test_execution.py"
Parts = dict[str, tuple[str, ...]]  # of each its name and what Python runs


def parts(everything: bool, names: list[str], long: bool = False) -> Parts:
    """Return what runs, in this order; with names these tests alone."""
    if (ROOT / STUDENT).exists() and not names:
        print(
            "This is the student edition: make test checks your exercises, all of them. (The tests "
            "of the lab need the solutions.) One alone: python -m helpers.grade DP-1"
        )
        return {"exercises": ("-m", "helpers.grade")}
    if long:
        return {"long cases": (*PYTEST, "-m", "long or stress", *FOLDERS)}
    quick = ("-m", "not long" if everything else "not slow")
    if names:
        quick = () if everything else quick
        return {"tests": (*TOGETHER, *quick, *(str(path) for path in places(names)))}
    found: Parts = {"lint": ("-m", "ruff", "check"), "format": ("-m", "ruff", "format", "--check")}
    if not everything:
        return found | {"tests": (*TOGETHER, *quick, *FOLDERS)}
    return found | {
        "tests": (*TOGETHER, *quick, *FOLDERS, "--ignore=tests/browser", f"--ignore={LESSONS}"),
        # Nothing else runs beside lessons, which measure, and a browser, which gives up waiting.
        "lessons": (*TOGETHER, LESSONS),
        "browser": (*PYTEST, *quick, "tests/browser"),
        "student edition": ("-m", "helpers.grade.student"),
    }


def places(names: list[str], root: Path = ROOT) -> list[Path]:
    """Return the tests with these names. Raises SystemExit for a name that none has.

    Args:
        names: of a folder, `ranks` or `helpers/ranks`, or of a file, `pool` or `test_pool.py`.
    """
    paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*"))]
    found = []
    for name in names:
        name = name.removeprefix("tests/").rstrip("/")
        folders = [path for path in paths if path.is_dir() and path.match(name)]
        files = [path for path in paths if path.match(name) or path.match(f"test_{name}.py")]
        found += folders or files
        if not folders + files:
            sys.exit(f"There are no tests called {name!r}: name a folder or a file of tests/.")
    return found


def run(command: list[str], seconds: float) -> int:
    """Run a command and end everything that it started; return its exit status.

    It is stopped after so many seconds, or by an interrupt, politely at first: pytest then says
    where it stood, and its tests clean up.
    """
    posix = os.name == "posix"
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=posix)
    try:
        return process.wait(max(seconds, 1))
    except (subprocess.TimeoutExpired, KeyboardInterrupt) as reason:
        process.send_signal(signal.SIGINT if posix else signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        if isinstance(reason, KeyboardInterrupt):
            raise
        print(f"stopped after {seconds:.0f} s", file=sys.stderr)
        return 124
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL) if posix else process.kill()
        process.wait()


def counts(report: Path) -> Counter:
    """Return how many tests of a JUnit report failed, passed, were skipped or broke."""
    suite = ElementTree.parse(report).find("testsuite")
    tests, failed, errors, skipped = (
        int(suite.get(key)) for key in ("tests", "failures", "errors", "skipped")
    )
    passed = tests - failed - errors - skipped
    return Counter(failed=failed, passed=passed, skipped=skipped, errors=errors)


def run_part(command: list[str], report: Path, seconds: float) -> Counter:
    """Run one part and count its tests; without a failed test, its own failure is one error."""
    report.unlink(missing_ok=True)
    tests = "pytest" in command
    code = run([*command, *([f"--junitxml={report}"] if tests else [])], seconds)
    try:
        found = counts(report) if tests else Counter()
    except (OSError, ElementTree.ParseError):
        code, found = code or 1, Counter()  # a test has ended the whole process
    if code and not found["failed"] + found["errors"]:
        found["errors"] = 1
    if tests and code == 5:  # pytest's word for it
        print("No test ran. What is slow runs with --all: make test-all ONLY=…, say.")
    return found


def failures(report: Path) -> list[str]:
    """Return the names of the tests of a JUnit report that failed or broke."""
    cases = ElementTree.parse(report).iter("testcase")
    return [
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]


def run_again(command: list[str], report: Path, seconds: float, found: Counter) -> list[str]:
    """Run what failed once more, by itself; correct the counts, and name what passed this time."""
    few = 0 < found["failed"] + found["errors"] <= FEW
    if not few or seconds <= 0 or not report.exists():  # out of time: some tests never ran
        return []
    named = failures(report)
    print("\n== once more, alone ==", flush=True)
    alone = ("-n", "0", "--last-failed", "--last-failed-no-failures", "none")
    again = report.with_stem(f"{report.stem}, again")
    second = run_part([*command, *alone], again, seconds)
    if again.exists():
        still = failures(again)
        found.update(passed=second["passed"], skipped=second["skipped"])
        found["failed"], found["errors"] = second["failed"], second["errors"]
        return [name for name in named if name not in still]
    return []


def closing(total: Counter, seconds: float) -> str:
    """Return one line in pytest's own form: "1 failed, 20 passed in 75.00s (0:01:15)"."""
    words = [f"{total[word]} {word}" for word in ("failed", "passed", "skipped") if total[word]]
    errors = total["errors"]
    words += [f"{errors} error{'s' if errors > 1 else ''}"] if errors else []
    whole = int(seconds)
    clock = f" ({whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d})" if whole >= 60 else ""
    return f" {', '.join(words) or 'no tests ran'} in {seconds:.2f}s{clock} ".center(80, "=")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Set the lab up and run its tests.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a folder or file of tests/")
    parser.add_argument("--all", action="store_true", help="what is slow, too")
    parser.add_argument("--long", action="store_true", help="what --all leaves out")
    parser.add_argument("--this-python", action="store_true", help="see tools/install.py")
    flags = parser.parse_args(arguments)
    # Set-up leaves compiling to the first import: without this, every process would compile anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    RESULTS.mkdir(parents=True, exist_ok=True)
    python = str(venv_python(ROOT / ".venv"))
    begin, total, lines, flaky = time.monotonic(), Counter(), [], []
    deadline = begin + 60 * (75 if flags.all and os.environ.get("CI") else 120)
    install = [sys.executable, "tools/install.py", "--extras", "test"]
    install += ["--this-python"] if flags.this_python else []
    todo = {"set-up": install}
    for name, what in parts(flags.all, flags.names, flags.long).items():
        todo[name] = [python, *what]
    for name, command in todo.items():
        print(f"\n== {name} ==", flush=True)
        started = time.monotonic()
        report = RESULTS / f"{name}.xml"
        found = run_part(command, report, deadline - started)
        if flags.all and name != "set-up":
            flaky += run_again(command, report, deadline - time.monotonic(), found)
        total += found
        said = ", ".join(f"{n} {word}" for word, n in found.items() if n) or "ok"
        lines.append(f"{name:<20}{time.monotonic() - started:>8.1f} s  {said}")
        if name == "set-up" and found:
            break
    lines += [f"failed at first, and passed alone: {name}" for name in flaky]
    lines += ["", closing(total, time.monotonic() - begin)]
    (RESULTS / "summary.txt").write_text(lines[-1] + "\n", encoding="utf-8")
    print("\n" + "\n".join(lines), flush=True)
    return int(bool(total["failed"] + total["errors"]))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
