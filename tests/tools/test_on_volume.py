"""A hub's server in a copy of the lab on the student's volume: what is written there stays."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "on_volume.sh"
WORK = """
import os, pathlib, lesson
note = pathlib.Path("notes.txt")
note.write_text(note.read_text() + "again" if note.exists() else "once")
print(note.read_text(), lesson.__file__, os.environ["XDG_DATA_HOME"])
"""


@pytest.mark.skipif(os.name == "nt", reason="a container runs Linux")
def test_work_outlives_the_container_and_packages_are_not_copied(tmp_path):
    lab, volume = tmp_path / "home" / "lab", tmp_path / "volume"
    for folder in (lab / "tools", lab / ".venv", lab / "build", volume):
        folder.mkdir(parents=True)
    shutil.copy(SCRIPT, lab / "tools")
    (lab / "lesson.py").write_text("written = 'by the teacher'\n")
    (lab / ".hidden").touch()
    copy = volume / "distributed-ml-lab"
    command = ["sh", lab / "tools" / "on_volume.sh", sys.executable, "-c", WORK]
    env = os.environ | {"LAB_VOLUME": str(volume), "PYTHONPATH": str(lab)}
    for said in ("once", "onceagain"):
        done = subprocess.run(command, cwd="/", env=env, capture_output=True, text=True)
        there = f"{said} {copy / 'lesson.py'} {volume / '.local/share'}\n"
        assert done.stdout == there, done.stderr
        there = {path.name for path in copy.iterdir()} - {"__pycache__"}
        assert there == {".hidden", "lesson.py", "notes.txt", "tools"}
        (copy / "lesson.py").write_text("written = 'by the student'\n")
    assert "student" in (copy / "lesson.py").read_text()
    assert not (lab / "notes.txt").exists()
