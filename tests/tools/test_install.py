"""Set-up: what is done once, what is done again, and one sentence for each way to fail."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import install
import machine
import stamp
from quiet_run import StepFailed

ROOT = Path(__file__).resolve().parents[2]
GIGABYTE = 10**9


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A folder with a pyproject.toml, and the list of commands that set-up would run in it."""
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["torch==2.13.0"]\n')
    commands = []

    def run_step(words, command, log):
        commands.append([str(part) for part in command])
        if command[1:3] == ["-m", "venv"]:
            python = stamp.venv_python(Path(command[3]))
            python.parent.mkdir(parents=True)
            python.touch()
            (Path(command[3]) / "pyvenv.cfg").write_text(
                "version = {}.{}.0\n".format(*sys.version_info[:2])
            )

    def output_of(python, code):
        if not python.exists():
            return None
        known = {"sys.version_info": "{} {}".format(*sys.version_info[:2]), "pip.__version__": "25"}
        return next((answer for sign, answer in known.items() if sign in code), None)

    monkeypatch.setattr(install, "run_step", run_step)
    monkeypatch.setattr(install, "output_of", output_of)
    monkeypatch.setattr(machine, "output_of", lambda python, code: None)
    monkeypatch.setattr(machine, "has_nvidia_driver", lambda: True)
    monkeypatch.setattr(
        install.shutil, "disk_usage", lambda _: SimpleNamespace(free=100 * GIGABYTE)
    )
    monkeypatch.delenv("LAB_TORCH", raising=False)
    return tmp_path, commands


def kinds(commands: list[list[str]]) -> list[str]:
    """Which steps were run."""
    names = {"venv": "venv", "torch==2.13.0": "torch", "--editable": "rest", "-c": "look"}
    return [name for command in commands for sign, name in names.items() if sign in command]


def test_the_first_run_does_everything_in_order_torch_first(lab):
    root, commands = lab
    assert install.main([], root) == 0
    assert kinds(commands) == ["venv", "torch", "rest", "look"]
    assert str(root) in commands[2]
    assert json.loads((root / ".venv" / stamp.NAME).read_text())["extras"] == []
    settings = json.loads(next((root / ".venv").rglob("overrides.json")).read_text())
    assert settings["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"


def test_the_second_run_does_nothing(lab, capsys):
    root, commands = lab
    install.main(["--extras", "test"], root)
    commands.clear()
    assert install.main(["--extras", "test"], root) == 0
    assert install.main([], root) == 0
    assert commands == []
    assert "everything is in place" in capsys.readouterr().out


def test_a_changed_pyproject_is_installed_again_with_the_extras_of_before(lab):
    root, commands = lab
    install.main(["--extras", "test"], root)
    commands.clear()
    with (root / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    install.main([], root)
    assert kinds(commands) == ["torch", "rest", "look"]
    assert f"{root}[test]" in commands[1]


def test_more_extras_and_another_choice_of_torch_are_not_in_place(lab):
    root, commands = lab
    install.main([], root)
    for arguments in (["--extras", "test"], ["--torch", "cuda"], ["--again"]):
        commands.clear()
        install.main(arguments, root)
        assert "rest" in kinds(commands), arguments


def test_a_copied_folder_is_set_up_again(lab, tmp_path):
    root, commands = lab
    install.main([], root)
    needed = stamp.state(root, set(), "auto")
    assert stamp.in_place(root / ".venv", needed)
    assert not stamp.in_place(root / ".venv", {**needed, "folder": "elsewhere"})


def test_a_set_up_that_was_killed_starts_anew(lab, monkeypatch):
    root, commands = lab
    working = install.run_step

    def killed(words, command, log):
        if "--editable" in command:
            raise KeyboardInterrupt
        working(words, command, log)

    monkeypatch.setattr(install, "run_step", killed)
    assert install.main([], root) == 130
    assert stamp.read(root / ".venv") == stamp.UNFINISHED
    monkeypatch.setattr(install, "run_step", working)
    commands.clear()
    assert install.main([], root) == 0
    assert kinds(commands) == ["venv", "torch", "rest", "look"]


def test_a_step_that_failed_is_tried_again_without_starting_anew(lab, monkeypatch, capsys):
    root, commands = lab
    working = install.run_step

    def fails(words, command, log):
        if "--editable" in command:
            raise StepFailed(words, "NewConnectionError: no route\n")
        working(words, command, log)

    monkeypatch.setattr(install, "run_step", fails)
    assert install.main([], root) == 1
    assert "check the network" in capsys.readouterr().err
    monkeypatch.setattr(install, "run_step", working)
    commands.clear()
    assert install.main([], root) == 0
    assert kinds(commands) == ["torch", "rest", "look"]


def test_a_folder_that_is_no_environment_is_not_touched(lab, capsys):
    root, commands = lab
    (root / ".venv").mkdir()
    (root / ".venv" / "thesis.txt").write_text("all of it")
    (root / "pyproject.toml").touch()
    assert install.main([], root) == 1
    assert "is not a virtual environment: move it away" in capsys.readouterr().err
    assert (root / ".venv" / "thesis.txt").read_text() == "all of it"


def test_the_chosen_python_replaces_an_environment_of_another_one(lab):
    root, commands = lab
    install.main([], root)
    (root / ".venv" / "pyvenv.cfg").write_text("version = 3.99.0\n")
    assert not install.same_python(root / ".venv")
    commands.clear()
    install.main([], root)
    assert commands == []  # nobody chose
    install.main(["--this-python"], root)
    assert "rest" in kinds(commands)


def test_torch_that_cannot_be_imported_is_named_with_the_cure(lab, monkeypatch, capsys):
    root, _ = lab
    working = install.run_step

    def fails(words, command, log):
        if "-c" in command:
            raise StepFailed(words, "OSError: a library is missing\n")
        working(words, command, log)

    monkeypatch.setattr(install, "run_step", fails)
    assert install.main([], root) == 1
    assert "cannot be imported" in capsys.readouterr().err
    assert stamp.read(root / ".venv") == {}


@pytest.mark.parametrize(
    ("log", "free", "sentence"),
    [
        ("ERROR: Could not install packages: [Errno 28] No space left on device", GIGABYTE, "disk"),
        ("anything", 10**7, "The disk is full"),
        ("ensurepip is not\navailable", GIGABYTE, "sudo apt install python3."),
        ("No module named venv", GIGABYTE, "sudo apt install python3."),
        ("PermissionError: Permission denied: 'x'", GIGABYTE, "a folder of your own"),
        ("retrying after NewConnectionError", GIGABYTE, "check the network"),
        (
            "ERROR: No matching distribution found for torch==2.13.0",
            GIGABYTE,
            "Python 3.11 to 3.14",
        ),
        ("something else", GIGABYTE, "put right what they name"),
    ],
)
def test_each_way_to_fail_has_its_sentence(log, free, sentence):
    said = install.cure(StepFailed("a step", log), free)
    assert sentence in said and "\n" not in said


def test_too_little_room_is_said_before_anything_is_fetched(tmp_path):
    install.check_disk(tmp_path, 4 * GIGABYTE, cuda=False)
    with pytest.raises(install.SetupError, match="needs 3 GB in .* and 1.5 GB are free"):
        install.check_disk(tmp_path, 3 * GIGABYTE // 2, cuda=False)
    with pytest.raises(install.SetupError, match="needs 9 GB"):
        install.check_disk(tmp_path, 4 * GIGABYTE, cuda=True)


def test_the_version_of_torch_comes_from_pyproject(tmp_path):
    assert machine.torch_pin(ROOT) == "2.13.0"
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["torch>=2"]\n')
    with pytest.raises(ValueError, match="does not pin torch"):
        machine.torch_pin(tmp_path)


def test_a_wrong_choice_of_torch_is_refused(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("LAB_TORCH", "gpu")
    with pytest.raises(SystemExit):
        install.main([], tmp_path)
    assert "torch from 'gpu': give auto, cpu, cuda, or the address" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["install.py", "run_tests.py"])
def test_an_old_python_gets_as_far_as_the_sentence(name):
    # A Python that cannot read the file cannot say what is wrong either.
    source = (ROOT / "tools" / name).read_text(encoding="utf-8")
    before_imports = source[: source.index("import argparse")]
    ast.parse(source, feature_version=(3, 7))
    assert "sys.version_info <" in before_imports
    old = 'import sys; sys.version_info = (3, 9, 18, "final", 0)\n'
    if name == "install.py":
        done = subprocess.run([sys.executable, "-c", old + source], capture_output=True, text=True)
        assert "needs Python 3.11 or newer and this is Python 3.9: install" in done.stderr
        assert done.returncode == 1 and "Traceback" not in done.stderr


def test_what_an_environment_holds_is_found_without_importing_torch():
    said = machine.output_of(
        Path(sys.executable), machine.WHICH_TORCH + "\nprint('torch' in __import__('sys').modules)"
    )
    import torch

    assert said.split() == [torch.__version__, torch.version.cuda or "none", "False"]
    assert machine.output_of(Path(sys.executable), "raise SystemExit(3)") is None
    assert machine.output_of(Path("no/such/python"), "1") is None
