"""The parts of a test run, the counts of its closing line, and an end to what hangs."""

import re
import sys
import time
from collections import Counter

import psutil
import pytest

import run_tests
from run_tests import closing, parts, places, run_again, run_part

pytestmark = pytest.mark.ranks


def test_everything_is_the_quick_run_and_what_is_slow():
    quick, everything = parts(False, []), parts(True, [])
    assert list(quick) == ["lint", "format", "tests"]
    assert list(everything) == [*quick, "lessons", "browser", "student edition"]
    assert "not slow" in quick["tests"] and "not slow" not in everything["tests"]
    (long,) = parts(False, [], long=True).values()
    assert "not long" in everything["tests"] and "not long" in everything["browser"]
    assert "long or stress" in long and "tests" in long


def test_a_package_is_named_by_its_folder_or_file():
    def found(*names):
        return [str(path.relative_to(run_tests.ROOT)) for path in places(list(names))]

    assert found("pipeline", "DP") == ["tests/helpers/pipeline", "tests/DP"]
    assert found("tests/helpers/ranks/", "helpers/hang") == [
        "tests/helpers/ranks",
        "tests/helpers/hang",
    ]
    assert found("pool", "test_demo.py") == [
        "tests/helpers/ranks/test_pool.py",
        "tests/test_demo.py",
    ]
    with pytest.raises(SystemExit, match="no tests called 'pipelin'"):
        places(["pipelin"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (
            "import pytest\ndef test_a(): pass\ndef test_b(): assert 0\ndef test_c(x): pass\n"
            "def test_e(): pytest.skip('later')",
            "1 failed, 1 passed, 1 skipped, 1 error",
        ),
        ("import os\ndef test_d(): os._exit(0)", "1 error"),
        ("import no_such_module", "1 error"),
        ("", "1 error"),
    ],
)
def test_the_closing_line_counts_as_pytest_does(text, counts, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # it starts in half the time
    (tmp_path / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", f"--rootdir={tmp_path}", str(tmp_path)]
    found = run_part([*command, "-c", "/dev/null"], tmp_path / "report.xml", 100)
    assert closing(found, 75).strip("=") == f" {counts} in 75.00s (0:01:15) "
    assert ("make test-all ONLY=" in capsys.readouterr().out) == (not text)  # where none ran


@pytest.mark.slow
def test_what_fails_once_runs_again_alone_and_is_named(tmp_path):
    """A second failure counts, and many failures are no accident."""
    (tmp_path / "test_it.py").write_text(
        "import pathlib\nhere = pathlib.Path(__file__).with_name('ran')\n"
        "def test_fine(): pass\ndef test_twice(): assert 0\n"
        "def test_once():\n    ran = here.exists()\n    here.touch()\n    assert ran\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", f"--rootdir={tmp_path}", str(tmp_path)]
    command += ["-c", "/dev/null"]
    report = tmp_path / "report.xml"
    found = run_part(command, report, 100)
    assert (found["failed"], found["passed"]) == (2, 1)
    (once,) = run_again(command, report, 100, found)
    assert once.endswith("test_it::test_once")
    assert (found["failed"], found["passed"]) == (1, 2)
    assert run_again(command, report, 0, found) == [] and found["failed"] == 1
    many = Counter(failed=run_tests.FEW + 1)
    assert run_again(command, report, 100, many) == [] and many["failed"] == run_tests.FEW + 1


def test_a_part_without_tests_that_fails_is_one_error(tmp_path):
    python = [sys.executable, "-c"]
    assert run_part([*python, "raise SystemExit(3)"], tmp_path / "x.xml", 60) == {"errors": 1}
    assert run_part([*python, ""], tmp_path / "x.xml", 60) == {}
    assert re.fullmatch("=+ no tests ran in 4.20s =+", closing(Counter(), 4.2))


@pytest.mark.long
def test_what_hangs_is_ended_with_all_that_it_started(tmp_path):
    code = (
        "import pathlib, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"pathlib.Path({str(tmp_path / 'child')!r}).write_text(str(child.pid))\n"
    )
    for ending, seconds in (("", 60), ("time.sleep(600)", 3)):
        found = run_part([sys.executable, "-c", code + ending], tmp_path / "x.xml", seconds)
        assert found == ({"errors": 1} if ending else {})
        child, end = int((tmp_path / "child").read_text()), time.monotonic() + 20
        while psutil.pid_exists(child) and psutil.Process(child).status() != "zombie":
            assert time.monotonic() < end
            time.sleep(0.05)


def test_the_student_edition_checks_exercises_in_place_of_the_tests(tmp_path, monkeypatch, capsys):
    """Its tests/grade is not there, and its stubs would fail the others."""
    (tmp_path / ".student-edition").touch()
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    assert parts(False, []) == {"exercises": ("-m", "helpers.grade")}
    assert "make test checks your exercises" in capsys.readouterr().out
