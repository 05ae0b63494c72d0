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

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a container runs Linux")


@pytest.fixture
def image(tmp_path):
    """A lab as it lies in an image, and a volume that is still empty."""
    lab, volume = tmp_path / "home" / "lab", tmp_path / "volume"
    for folder in (lab / "tools", lab / ".venv", lab / "build", volume):
        folder.mkdir(parents=True)
    shutil.copy(SCRIPT, lab / "tools")
    (lab / "lesson.py").write_text("written = 'by the teacher'\n")
    (lab / ".hidden").touch()
    return lab, volume


def start(lab, volume):
    command = ["sh", lab / "tools" / "on_volume.sh", sys.executable, "-c", WORK]
    env = os.environ | {"LAB_VOLUME": str(volume), "PYTHONPATH": str(lab)}
    return subprocess.run(command, cwd="/", env=env, capture_output=True, text=True)


def test_work_outlives_the_container_and_packages_are_not_copied(image):
    lab, volume = image
    copy = volume / "distributed-ml-lab"
    first = start(lab, volume)
    where = f"{copy / 'lesson.py'} {volume / '.local/share'}\n"
    assert (first.returncode, first.stdout) == (0, f"once {where}"), first.stderr
    assert sorted(path.name for path in copy.iterdir() if path.name != "__pycache__") == [
        ".hidden", "lesson.py", "notes.txt", "tools",
    ]  # fmt: skip
    (copy / "lesson.py").write_text("written = 'by the student'\n")
    shutil.rmtree(lab / ".hidden", ignore_errors=True)
    assert start(lab, volume).stdout == f"onceagain {where}"
    assert "student" in (copy / "lesson.py").read_text()
    assert not (lab / "notes.txt").exists()
