"""Set-up asks for the right torch, tells each failure in a sentence, and keeps a student's work."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import install

ROOT = Path(__file__).resolve().parents[2]
TORCH = "torch==2.13.0"


FAILED = {
    "ERROR: Could not install packages: [Errno 28] No space left on device": "disk is full",
    "ensurepip is not\navailable": "sudo apt install python3.",
    "retrying after NewConnectionError": "check the network",
    "ERROR: No matching distribution found for torch==2.13.0": "docs/installing.md says",
    "something else": "put right what they name",
}


@pytest.mark.parametrize("log", FAILED)
def test_a_step_that_fails_shows_its_last_words_and_one_sentence(log, capsys):
    code = f"import sys\nfor i in range(99): print('line', i)\nprint({log!r})\nsys.exit(1)"
    with pytest.raises(SystemExit, match=f"Set-up stopped. .*{FAILED[log]}"):
        install.step("a step", sys.executable, "-c", code)
    out = capsys.readouterr().out
    assert "line 98" in out and "line 3\n" not in out


def test_an_old_python_gets_as_far_as_the_sentence():
    # A Python that cannot read the file cannot say what is wrong either.
    for name in ("tools/install.py", "helpers/doctor.py"):
        source = (ROOT / name).read_text(encoding="utf-8")
        ast.parse("\nimport ".join(source.split("\nimport ")[:2]), feature_version=(3, 7))
        old = 'import sys; sys.version_info = (3, 9, 18, "final", 0)\n'
        done = subprocess.run([sys.executable, "-c", old + source], capture_output=True, text=True)
        assert "needs Python 3.11 or newer and this is Python 3.9: install" in done.stderr
        assert done.returncode == 1 and "Traceback" not in done.stderr


def test_each_machine_asks_for_its_build_of_torch():
    for wanted, system, nvidia, end in (
        ("auto", "linux", False, [f"{TORCH}+cpu"]),
        ("cpu", "linux", True, [f"{TORCH}+cpu"]),
        ("auto", "linux", True, [TORCH]),
        ("auto", "darwin", False, [TORCH]),
        ("cuda", "linux", False, [TORCH]),
        ("cuda", "win32", True, [f"{install.INDEX}/cu130", TORCH]),
        ("https://x.org", "linux", True, ["https://x.org", TORCH]),
    ):
        request = install.torch_request(wanted, system, nvidia)
        assert request[-len(end) :] == end
        # pip's own indexes may have the CPU build, too.
        assert ("--extra-index-url" in request) == (end[0].endswith("+cpu"))


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
    shutil.copy(ROOT / "tools/on_volume.sh", lab / "tools")
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
