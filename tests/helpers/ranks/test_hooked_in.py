"""Ranks know nothing of skipped tasks, and yet run with the references."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

ROOT = Path(__file__).resolve().parents[3]
WORK = """
from helpers.skipped import task

@task("T-1")
def double(number):
    raise NotImplementedError("Task T-1: double it")

if __name__ == "__main__":
    print("doubled", double(21))
"""
REFERENCE = {"T-1": {"work/part.py": {"double": "def double(number):\n    return 2 * number"}}}
LESSON = """
import sys
from helpers.ranks import launch, run_script
from helpers.skipped import skip_from_now
sys.path.insert(0, "work")

def doubled():
    import part
    return part.double(4)

def says():
    done = run_script("work/part.py", 1, quiet=True)
    there = launch(doubled, 1, quiet=True, on_error="report")
    return [str(done.failure or done.texts[0]), str(there.failure or there.results)]

before = says()
skip_from_now("T-1")  # the server that ranks are forked from is running
print(*(f"<{text}>" for text in [*before, *says()]))
"""


@pytest.mark.long
def test_ranks_that_were_warm_run_with_the_reference_of_a_task_that_is_skipped(tmp_path):
    shutil.copytree(ROOT / "helpers", tmp_path / "helpers")
    (tmp_path / "tasks").mkdir()
    with zipfile.ZipFile(tmp_path / "tasks" / "reference.zip", "w") as archive:
        archive.writestr("reference.json", json.dumps(REFERENCE))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "part.py").write_text(WORK)
    done = subprocess.run(
        [sys.executable, "-c", LESSON],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    script, call, script_then, call_then = done.stdout.strip()[1:-1].split("> <")
    assert "Task T-1: double it" in script and "Task T-1: double it" in call, done.stderr
    assert (script_then.strip(), call_then) == ("doubled 42", "[8]")
