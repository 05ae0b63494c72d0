"""The parts of the test run, their table and the closing line."""

import re
import sys
from pathlib import Path

import psutil
import pytest

import parts
import run_parts
import run_tests
from parts import PARTS, ROUNDS, Part
from results import Result, clock, read, room_of, summary
from run_parts import Place
from run_tests import chosen, earlier

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(sys.executable)
CLOSING = r"=+ (\d+ \w+(, )?)+ in \d+\.\d\ds( \(\d+:\d\d:\d\d\))? =+"


@pytest.fixture
def folder(tmp_path):
    """A folder with tests of several rooms: three pass, one fails, one breaks, one is skipped."""
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    for room, text in {
        "tests/simplellm": "def test_a(): pass\ndef test_b(): assert 1 == 2, 'one is not two'\n",
        "tests/helpers/trace": "def test_c(): pass\ndef test_d(): pass\n",
        "tests": "import pytest\ndef test_e(): pytest.skip('later')\ndef test_f(nothing): pass\n",
    }.items():
        (tmp_path / room).mkdir(parents=True, exist_ok=True)
        (tmp_path / room / "test_it.py").write_text(text)
    return tmp_path


def part(*arguments: str, **settings) -> Part:
    return Part(
        "tests", (("-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments),), **settings
    )


def run_part(part: Part, folder: Path) -> Result:
    """What a part comes to that runs alone."""
    results = []
    run_parts.run_round([(part,)], Place(folder, PYTHON, folder), results.append)
    (result,) = results
    return result


@pytest.fixture(autouse=True)
def plain_pytest(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they start in half the time


def test_a_part_counts_its_tests_by_room(folder):
    result = run_part(part("tests"), folder)
    assert (result.passed, result.skipped, len(result.failures)) == (3, 1, 2)
    assert {name: room.tests for name, room in result.rooms.items()} == {
        "simplellm": 2,
        "helpers/trace": 2,
        "it": 2,
    }
    assert any("test_b: AssertionError: one is not two" in text for text in result.failures)
    assert result.errors == [] and result.failed


def test_a_part_that_cannot_start_or_collects_nothing_is_an_error(folder):
    for argument in ("tests/nowhere", "--no-such-flag"):
        result = run_part(part(argument), folder)
        assert result.failed and "ended with code 4" in result.errors[0]
    (folder / "empty").mkdir()
    assert "ended with code 5" in run_part(part("empty"), folder).errors[0]


def test_a_module_that_cannot_be_imported_is_a_failure_with_its_last_words(folder):
    (folder / "tests/test_it.py").write_text("import no_such_module\n")
    result = run_part(part("tests", "--continue-on-collection-errors"), folder)
    assert any("no_such_module" in text for text in result.failures)
    assert result.passed == 3


def test_a_part_that_kills_itself_or_never_ends_is_an_error(folder):
    (folder / "tests/test_it.py").write_text("import os\ndef test_g(): os._exit(0)\n")
    result = run_part(part("tests/test_it.py"), folder)
    assert "a test ended the whole process" in result.errors[0]  # with code 0
    (folder / "tests/test_it.py").write_text("import time\ndef test_h(): time.sleep(600)\n")
    result = run_part(part("tests/test_it.py", minutes=0.03), folder)
    assert "stopped after 0.03 minutes" in result.errors[0]


def test_a_command_that_is_no_pytest_counts_as_one_error(folder):
    result = run_part(Part("lint", (("-c", "raise SystemExit(1)"), ("-c", ""))), folder)
    assert result.errors == ["python -c raise SystemExit(1): ended with code 1"]


def test_the_table_and_the_closing_line(folder):
    results = [
        Result("set-up", seconds=61.5),
        run_part(part("tests"), folder),
        Result("lint", seconds=0.5, errors=["ruff: ended with code 1"]),
    ]
    lines = summary(results, 3723.456).splitlines()
    assert lines[1].split() == ["set-up", "61.5", "ok"]
    assert any(line.split()[:1] == ["helpers/trace"] for line in lines)
    assert any("one is not two" in line for line in lines)
    assert "2 failed, 3 passed, 1 skipped, 1 error in 3723.46s (1:02:03)" in lines[-1]
    assert re.fullmatch(CLOSING, lines[-1])


def test_the_closing_line_of_a_run_in_which_all_is_well():
    last = summary([Result("tests", passed=12)], 4.2).splitlines()[-1]
    assert re.fullmatch(CLOSING, last) and " 12 passed in 4.20s " in last


def test_only_the_first_failures_are_listed_and_no_message_fills_the_screen():
    assert max(map(len, summary([Result("tests", failures=["x" * 999])], 1).splitlines())) <= 162
    lines = summary(
        [Result("tests", failures=[f"test_{i}: no" for i in range(25)])], 1
    ).splitlines()
    assert sum("test_" in line for line in lines) == 10
    assert any("and 15 more" in line for line in lines)


def test_a_report_that_was_cut_off_is_an_error(tmp_path):
    (tmp_path / "x.xml").write_text("<testsuites><testcase ")
    assert "is not complete" in read(tmp_path / "x.xml").errors[0]


def test_rooms_follow_the_folders():
    assert room_of("tests.helpers.trace.test_chrome") == "helpers/trace"
    assert room_of("tests.simplellm.test_llama.TestClass") == "simplellm"
    assert room_of("tests.test_project") == "project"


def test_seconds_are_written_as_pytest_writes_them():
    assert [clock(s) for s in (0.1, 59.99, 75)] == ["0.10s", "59.99s", "75.00s (0:01:15)"]


def test_parts_that_ran_before_are_taken_over():
    results = earlier("system packages=12.5;a=b=3")
    assert [(r.name, r.seconds) for r in results] == [("system packages", 12.5), ("a=b", 3.0)]
    assert earlier("") == []


def test_every_part_has_a_limit():
    # A limit is for what hangs: it is wider than what a part takes.
    assert all(part.minutes <= 25 for part in PARTS)
    longest = [max(sum(p.minutes for p in lane) for lane in lanes) for lanes in ROUNDS]
    assert sum(longest) <= 60


def test_what_runs_in_a_process_of_its_own_is_left_out_of_the_others():
    everything = next(part for part in PARTS if part.name == "tests").commands[0]
    for own in parts.OWN_PROCESS:
        assert f"--ignore={own}" in everything
        assert any(
            own in command for part in PARTS for command in part.commands if part.name != "tests"
        )


def test_an_unknown_part_is_named(capsys):
    with pytest.raises(SystemExit):
        run_tests.main(["lnit"])
    assert "there is no part 'lnit'; the parts are: lint, tests" in capsys.readouterr().err


def test_the_names_of_the_parts_can_be_listed(capsys):
    assert run_tests.main(["--list"]) == 0
    assert capsys.readouterr().out.split("\n")[:2] == ["lint", "tests"]


def says(*texts: str, then: str = "") -> tuple[Part, ...]:
    """A lane of parts that each wait a little and say something."""
    code = "import os, pathlib, time; time.sleep(0.3); print({!r}, flush=True)\n"
    return tuple(Part(t, (("-c", code.format(t) + then),), minutes=1) for t in texts)


def test_lanes_run_side_by_side_and_what_they_say_is_not_mixed(tmp_path, capfd):
    done = []
    # Each waits for the other: they can only end if they run at the same time.
    wait = "open({!r}, 'w')\nwhile not os.path.exists({!r}): time.sleep(0.01)"
    a, c = says("a", then=wait.format("one", "two")), says("c", then=wait.format("two", "one"))
    lanes = [(*a, *says("b")), (*c, *says("d", "e"))]
    run_parts.run_round(lanes, Place(tmp_path, PYTHON, tmp_path), done.append)
    said = capfd.readouterr().out.split()
    assert sorted(result.name for result in done) == list("abcde")
    assert not any(result.failed for result in done)
    for name in "abcde":
        at = said.index(name)
        assert said[at - 1 : at + 3] == ["==", name, "==", name]


def test_an_interrupt_ends_every_lane_and_shows_what_was_said(tmp_path, capfd):
    pid = "print('pid', os.getpid(), flush=True); open({!r}, 'w'); time.sleep(600)"
    both = "while len([*pathlib.Path().glob({!r})]) < 2: time.sleep(0.01)"
    lanes = [says(name, then=pid.format(f"{name}.said")) for name in "ab"]
    lanes.append(says("c", then=both.format("*.said")))

    def interrupt(result):
        raise KeyboardInterrupt  # as the third lane ends, when both have spoken

    with pytest.raises(KeyboardInterrupt):
        run_parts.run_round(lanes, Place(tmp_path, PYTHON, tmp_path), interrupt)
    said = capfd.readouterr().out
    pids = re.findall(r"pid (\d+)", said)
    assert len(pids) == 2 and "== b ==" in said
    assert not any(psutil.pid_exists(int(pid)) for pid in pids)


def test_of_the_rounds_only_the_chosen_parts_stay():
    assert [[[p.name for p in lane] for lane in lanes] for lanes in chosen(["gpt2", "lint"])] == [
        [["lint"]],
        [["gpt2"]],
    ]
    assert chosen([]) == [[lane for lane in lanes] for lanes in ROUNDS]


def test_the_student_edition_checks_exercises_in_place_of_the_tests(tmp_path, monkeypatch, capfd):
    """Its tests/grade is not there, and its stubs would fail the others."""
    (tmp_path / ".student-edition").touch()
    room = tmp_path / "helpers" / "grade"
    room.mkdir(parents=True)
    (room / "__init__.py").touch()
    (room / "__main__.py").write_text("print('graded', __file__)\nraise SystemExit(1)\n")
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    monkeypatch.setattr(run_tests, "RESULTS", tmp_path / "build")
    monkeypatch.setattr(run_tests, "set_up", lambda flags: Result("set-up"))
    monkeypatch.setattr(run_tests, "venv_python", lambda folder: PYTHON)
    assert run_tests.main([]) == 1
    said = capfd.readouterr().out
    assert "This is the student edition: make test checks your exercises" in said
    assert f"graded {room / '__main__.py'}" in said
