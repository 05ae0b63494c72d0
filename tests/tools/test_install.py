"""Set-up: what is done once, what is done again, and one sentence for each way to fail."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import install
from install import torch_request

ROOT = Path(__file__).resolve().parents[2]
VERSION = "2.13.0"
PLAIN = ("torch==2.13.0",)


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A folder with a pyproject.toml, and the names of the steps that set-up would run in it."""
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["torch==2.13.0"]\n')
    (tmp_path / "constraints.txt").write_text("numpy==2.4.0\n")
    steps = []

    def run_step(words, command, log):
        names = {"venv": "venv", "--constraint": "rest", "--editable": "newest", "-c": "look"}
        names["--upgrade"] = "pip"
        steps.append(next((name for sign, name in names.items() if sign in command), "torch"))
        if steps[-1] == "venv":
            python = install.venv_python(Path(command[3]))
            python.parent.mkdir(parents=True)
            python.touch()
            (Path(command[3]) / "pyvenv.cfg").touch()
        if steps[-1] in run_step.fails:
            raise run_step.fails[steps[-1]]

    run_step.fails = {}
    monkeypatch.setattr(install, "run_step", run_step)
    monkeypatch.setattr(install, "version_of", lambda venv: sys.version_info[:2])
    monkeypatch.setattr(install, "output_of", lambda command: "pip 25")
    monkeypatch.setattr(install, "has_nvidia_driver", lambda: True)
    monkeypatch.delenv("LAB_TORCH", raising=False)
    monkeypatch.setattr(install.shutil, "disk_usage", lambda _: Disk(10**11))
    return tmp_path, steps, run_step.fails


class Disk:
    def __init__(self, free):
        self.free = free


def test_the_first_run_does_everything_in_order_and_the_second_nothing(lab, capsys):
    root, steps, _ = lab
    assert install.main(["--extras", "test"], root) == 0
    assert steps == ["venv", "torch", "rest", "look"]
    settings = json.loads(next((root / ".venv").rglob("overrides.json")).read_text())
    assert settings["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"
    for arguments in (["--extras", "test"], [], ["--this-python"]):
        assert install.main(arguments, root) == 0
    assert len(steps) == 4 and "everything is in place" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--extras", "test"], ["--torch", "cuda"]])
def test_what_is_asked_for_anew_is_installed_and_what_was_there_stays_part_of_it(lab, arguments):
    root, steps, _ = lab
    install.main(["--extras", "hub"], root)
    install.main(arguments, root)
    assert steps[4:] == ["torch", "rest", "look"]
    assert "hub" in install.read_stamp(root / ".venv")["extras"]


def test_a_changed_pyproject_and_a_copied_folder_are_set_up_again(lab):
    root, steps, _ = lab
    install.main([], root)
    with (root / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    install.main([], root)
    assert steps[4:] == ["torch", "rest", "look"]
    stamp = install.read_stamp(root / ".venv")
    assert install.in_place(root / ".venv", stamp, False)
    assert not install.in_place(root / ".venv", stamp | {"folder": "elsewhere"}, False)


def test_a_killed_set_up_starts_anew_and_a_failed_one_goes_on(lab, capsys):
    root, steps, fails = lab
    fails["rest"] = KeyboardInterrupt
    assert install.main([], root) == 130
    assert install.read_stamp(root / ".venv") == install.UNFINISHED
    fails["rest"] = fails["newest"] = install.SetupError("The package index cannot be reached.")
    assert install.main([], root) == 1
    assert "Set-up stopped. The package index" in capsys.readouterr().err
    del fails["rest"], steps[:]
    assert install.main([], root) == 0
    assert steps == ["torch", "rest", "look"]


def test_versions_that_were_tested_first_and_others_where_those_cannot_be_had(lab, monkeypatch):
    root, steps, fails = lab
    fails["rest"] = install.SetupError("No matching distribution found for numpy==2.4.0")
    assert install.main([], root) == 0
    assert steps == ["venv", "torch", "rest", "newest", "look"]
    del fails["rest"], steps[:]
    (root / "constraints.txt").write_text("numpy==2.4.1\n")  # changed: set up again
    assert install.main([], root) == 0
    monkeypatch.setenv("LAB_NEWEST", "1")
    assert install.main([], root) == 0
    assert steps == ["torch", "rest", "look", "torch", "newest", "look"]


def test_a_folder_that_is_no_environment_is_not_touched(lab, capsys, monkeypatch):
    root, _, _ = lab
    (root / ".venv").mkdir()
    (root / ".venv" / "thesis.txt").write_text("all of it")
    monkeypatch.setattr(install, "version_of", lambda venv: ())
    assert install.main([], root) == 1
    assert "is not a virtual environment: move it away" in capsys.readouterr().err
    assert (root / ".venv" / "thesis.txt").read_text() == "all of it"


def test_too_little_room_is_said_before_anything_is_fetched(lab, capsys, monkeypatch):
    root, steps, _ = lab
    monkeypatch.setattr(install.shutil, "disk_usage", lambda _: Disk(1.5 * 10**9))
    assert install.main(["--torch", "cpu"], root) == 1
    assert "needs 3 GB" in (said := capsys.readouterr().err) and "1.5 GB are free" in said
    assert not steps


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        ("ERROR: Could not install packages: [Errno 28] No space left on device", "disk is full"),
        ("ensurepip is not\navailable", "sudo apt install python3."),
        ("PermissionError: Permission denied: 'x'", "a folder of your own"),
        ("retrying after NewConnectionError", "check the network"),
        ("NewConnectionError … No matching distribution found for torch==2.13.0+cpu", "LAB_TORCH"),
        ("ERROR: No matching distribution found for torch==2.13.0", "not Intel"),
        ('File "<string>", line 4, in <module>\nOSError: a library is missing', "the folder .venv"),
        ("something else", "put right what they name"),
    ],
)
def test_a_step_that_fails_shows_its_words_and_one_sentence(log, sentence, tmp_path, capsys):
    code = f"import sys\nfor i in range(99): print('line', i)\nprint({log!r})\nsys.exit(1)"
    with pytest.raises(install.SetupError, match=sentence) as failure:
        install.run_step("a step", [sys.executable, "-c", code], tmp_path / "install.log")
    assert "\n" not in str(failure.value) and "{" not in str(failure.value)
    out = capsys.readouterr().out
    assert "line 98" in out and "line 3\n" not in out


def test_in_a_pipe_the_failed_step_comes_before_the_sentence_about_it(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["torch==2.13.0"]\n')
    (tmp_path / "constraints.txt").touch()
    code = (
        "import sys, pathlib, install\n"
        "step = lambda *_: install.run_step('a step', [sys.executable, '-c', 'wrong'], log)\n"
        "root = pathlib.Path(sys.argv[1]); log = root / 'install.log'; install.install = step\n"
        "sys.exit(install.main([], root))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], text=True, cwd=ROOT / "tools",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )  # fmt: skip
    said = ["a step ... failed after", "NameError", "Set-up stopped. "]
    assert done.returncode == 1
    assert sorted(said, key=done.stdout.index) == said, done.stdout


def test_a_tool_that_speaks_another_encoding_stops_nobody():
    says = "import os; os.write(1, b'GPU \\xff\\x81 0')"
    assert install.output_of([sys.executable, "-c", says]) == "GPU \ufffd\ufffd 0"


@pytest.mark.parametrize("name", ["install.py", "run_tests.py"])
def test_an_old_python_gets_as_far_as_the_sentence(name):
    # A Python that cannot read the file cannot say what is wrong either.
    source = (ROOT / "tools" / name).read_text(encoding="utf-8")
    ast.parse(source[: source.index("import argparse")], feature_version=(3, 7))
    old = 'import sys; sys.version_info = (3, 9, 18, "final", 0)\n'
    if name == "install.py":
        done = subprocess.run([sys.executable, "-c", old + source], capture_output=True, text=True)
        assert "needs Python 3.11 or newer and this is Python 3.9: install" in done.stderr
        assert done.returncode == 1 and "Traceback" not in done.stderr


# --- which torch ---------------------------------------------------------------------------------


def test_a_wrong_choice_of_torch_is_refused(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("LAB_TORCH", "gpu")
    with pytest.raises(SystemExit):
        install.main([], tmp_path)
    assert "torch from 'gpu': give auto, cpu, cuda, or the address" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wanted", "system", "nvidia", "end"),
    [
        ("auto", "Linux", False, ("torch==2.13.0+cpu",)),
        ("cpu", "Linux", True, ("torch==2.13.0+cpu",)),
        ("auto", "Linux", True, PLAIN),
        ("auto", "Darwin", False, PLAIN),
        ("cuda", "Linux", False, PLAIN),
        ("cuda", "Windows", True, (f"{install.INDEX}/cu130", *PLAIN)),
        *[("https://x.org", name, True, ("https://x.org", *PLAIN)) for name in ("Linux", "Darwin")],
    ],
)
def test_each_machine_asks_for_its_build_of_torch(wanted, system, nvidia, end):
    request = torch_request(VERSION, wanted, system, nvidia)
    assert request[-len(end) :] == end
    # pip's own indexes may have the CPU build, too.
    assert ("--extra-index-url" in request) == (end[0].endswith("+cpu"))
