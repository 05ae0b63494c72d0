"""Steps: quiet when they work, their words when they fail, an end to what hangs, one at a time."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from one_at_a_time import one_at_a_time
from quiet_run import StepFailed, run_step
from run_limited import run_limited

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_step_that_works_is_one_line_and_its_words_go_to_the_log(tmp_path, capsys):
    log = tmp_path / "install.log"
    run_step("a step", python("print('collecting numpy')"), log)
    out = capsys.readouterr().out
    assert out.startswith("  a step ... ") and out.count("\n") == 1
    assert "collecting numpy" not in out
    assert "collecting numpy" in log.read_text()


def test_a_step_that_fails_shows_its_last_lines(capsys):
    code = "import sys\nfor i in range(100): print('line', i)\nsys.exit('the reason')"
    with pytest.raises(StepFailed) as failure:
        run_step("a step", python(code), None)
    out = capsys.readouterr().out
    assert "the reason" in out and "line 99" in out and "line 3\n" not in out
    assert "the reason" in failure.value.log


def test_output_that_is_not_text_does_not_stop_a_step(tmp_path):
    run_step(
        "a step", python("import sys; sys.stdout.buffer.write(b'\\xff\\xfe')"), tmp_path / "log"
    )


def test_the_code_of_a_command_comes_back(tmp_path):
    assert run_limited(python("raise SystemExit(3)"), tmp_path, 60) == 3
    assert run_limited(python("import os; open('here', 'w')"), tmp_path, 60) == 0
    assert (tmp_path / "here").exists()


def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path):
    child = "import time; time.sleep(600)"
    code = (
        "import os, subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        "open('draft', 'w').write(str(child.pid))\n"
        "os.rename('draft', 'child')\n"
        "time.sleep(600)\n"
    )
    for seconds in (2, 30):  # in the second, a slow machine has started the child too
        assert run_limited(python(code), tmp_path, seconds) is None
        if (tmp_path / "child").exists():
            break
    assert gone(int((tmp_path / "child").read_text()))


def test_what_a_command_leaves_running_is_ended(tmp_path):
    child = "import time; time.sleep(600)"
    code = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        "open('child', 'w').write(str(child.pid))\n"
    )
    assert run_limited(python(code), tmp_path, 60) == 0
    if os.name != "nt":
        assert gone(int((tmp_path / "child").read_text()))


def gone(pid: int) -> bool:
    """Whether a process has ended, or ends within seconds; one that nobody waits for counts."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat")
            if state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except (OSError, ProcessLookupError):
            return True
        time.sleep(0.1)
    os.kill(pid, signal.SIGTERM)
    return False


def test_one_set_up_waits_for_the_other_and_a_dead_one_holds_nothing(tmp_path):
    lock = tmp_path / "lock"
    code = (
        f"import sys, time; sys.path.append({str(TOOLS)!r})\n"
        "from pathlib import Path\n"
        "from one_at_a_time import one_at_a_time\n"
        f"with one_at_a_time(Path({str(lock)!r}), lambda: None):\n"
        "    print('held', flush=True); time.sleep(600)\n"
    )
    holder = subprocess.Popen(python(code), stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    told = []

    def waiting():
        told.append(True)
        holder.kill()

    with one_at_a_time(lock, waiting):
        assert told == [True]
    holder.wait()
    with one_at_a_time(lock, lambda: pytest.fail("nobody holds it")):
        pass
