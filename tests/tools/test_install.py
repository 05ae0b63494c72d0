"""Set-up: one sentence for each way to fail, and which torch is asked for."""

import ast
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

import install

ROOT = Path(__file__).resolve().parents[2]
TORCH = "torch==2.13.0"


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A folder of its own, with an environment in it that doesn't work yet."""
    monkeypatch.setattr(install, "HOME", tmp_path / ".venv")
    monkeypatch.setattr(install, "PYTHON", tmp_path / ".venv/bin/python")
    monkeypatch.delenv("LAB_TORCH", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        ("ERROR: Could not install packages: [Errno 28] No space left on device", "disk is full"),
        ("ensurepip is not\navailable", "sudo apt install python3."),
        ("retrying after NewConnectionError", "check the network"),
        ("ERROR: No matching distribution found for torch==2.13.0", "docs/installing.md says"),
        ("something else", "put right what they name"),
    ],
)
def test_a_step_that_fails_shows_its_last_words_and_one_sentence(log, sentence, capsys):
    code = f"import sys\nfor i in range(99): print('line', i)\nprint({log!r})\nsys.exit(1)"
    with pytest.raises(SystemExit, match=f"Set-up stopped. .*{sentence}"):
        install.step("a step", sys.executable, "-c", code)
    out = capsys.readouterr().out
    assert "line 98" in out and "line 3\n" not in out


def test_too_little_room_is_said_before_anything_is_fetched(lab, monkeypatch):
    disk = namedtuple("disk", "free")(1.5e9)
    monkeypatch.setattr(install.shutil, "disk_usage", lambda _: disk)
    with pytest.raises(SystemExit, match=r"needs [39] GB in this folder, and 1.5 are free"):
        install.main([])
    assert not (lab / ".venv").exists()


def test_what_is_no_environment_is_not_touched(lab, monkeypatch):
    (lab / ".venv").mkdir()
    (lab / ".venv/thesis.txt").write_text("all of it")
    with pytest.raises(SystemExit, match="is not a virtual environment: move it away"):
        install.make_venv()
    assert (lab / ".venv/thesis.txt").read_text() == "all of it"
    monkeypatch.setattr(install, "HOME", lab / ".venv/thesis.txt")
    with pytest.raises(SystemExit, match="is not a virtual environment: move it away"):
        install.make_venv()


def test_an_old_python_gets_as_far_as_the_sentence():
    # A Python that cannot read the file cannot say what is wrong either.
    for name in ("tools/install.py", "helpers/doctor.py"):
        source = (ROOT / name).read_text(encoding="utf-8")
        ast.parse("\nimport ".join(source.split("\nimport ")[:2]), feature_version=(3, 7))
        old = 'import sys; sys.version_info = (3, 9, 18, "final", 0)\n'
        done = subprocess.run([sys.executable, "-c", old + source], capture_output=True, text=True)
        assert "needs Python 3.11 or newer and this is Python 3.9: install" in done.stderr
        assert done.returncode == 1 and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("wanted", "system", "nvidia", "end"),
    [
        ("auto", "linux", False, [f"{TORCH}+cpu"]),
        ("cpu", "linux", True, [f"{TORCH}+cpu"]),
        ("auto", "linux", True, [TORCH]),
        ("auto", "darwin", False, [TORCH]),
        ("cuda", "linux", False, [TORCH]),
        ("cuda", "win32", True, [f"{install.INDEX}/cu130", TORCH]),
        *[("https://x.org", name, True, ["https://x.org", TORCH]) for name in ("linux", "darwin")],
    ],
)
def test_each_machine_asks_for_its_build_of_torch(wanted, system, nvidia, end):
    request = install.torch_request(wanted, system, nvidia)
    assert request[-len(end) :] == end
    # pip's own indexes may have the CPU build, too.
    assert ("--extra-index-url" in request) == (end[0].endswith("+cpu"))


def test_a_wrong_choice_is_refused(lab):
    with pytest.raises(SystemExit, match="There is no extra 'tset': give test, site, hub or"):
        install.main(["tset"])
    with pytest.raises(SystemExit, match="LAB_TORCH=gpu: give auto, cpu, cuda, or the address"):
        install.torch_request("gpu", "linux", False)


def test_make_lists_its_targets_and_says_that_python_is_too_old(tmp_path):
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True).stdout
    assert "lab          set everything up, and open the course" in listed
    fake = tmp_path / "python3"
    fake.write_text("#!/bin/sh\nexit 1\n")
    fake.chmod(0o755)
    env = {"PATH": f"{tmp_path}", "HOME": str(tmp_path)}
    make = subprocess.check_output(["which", "make"], text=True).strip()
    (tmp_path / "sh").symlink_to("/bin/sh")
    done = subprocess.run(
        [make, "-nB", "setup", "SHELL=/bin/sh"], cwd=ROOT, env=env, capture_output=True, text=True
    )
    assert "There is no Python 3.11 or newer here: install one" in done.stderr
