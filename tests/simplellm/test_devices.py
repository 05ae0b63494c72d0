"""Which device is picked, and which PyTorch is good enough."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import simplellm
from simplellm import checks
from simplellm.devices import pick, say_once
from tests.simplellm.small import small

ROOT = Path(simplellm.__file__).parents[1]


@pytest.fixture
def machine(monkeypatch):
    """Pretend to have some devices and not others."""
    say_once.cache_clear()

    def has(cuda=0, mps=False):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)

    return has


@pytest.mark.parametrize(
    ("cuda", "mps", "asked", "given"),
    [
        (1, True, "auto", "cuda"),
        (0, True, "auto", "cpu"),
        (0, True, None, "cpu"),
        (0, True, "mps", "mps"),
        (2, False, "cuda:1", "cuda:1"),
        (2, False, torch.device("cpu"), "cpu"),
        (2, False, "meta", "meta"),
    ],
)
def test_what_is_there_is_given(machine, capsys, cuda, mps, asked, given):
    machine(cuda, mps)
    assert pick(asked) == torch.device(given)
    assert not capsys.readouterr().err


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_what_is_not_there_becomes_the_cpu_and_is_said_once(machine, capsys, name):
    machine()
    assert pick(name) == small(device=name).device == torch.device("cpu")
    said = capsys.readouterr().err
    assert said == f"simplellm: there is no {name} device here, so the CPU is used instead.\n"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("cuda:2", "no device cuda:2: this machine has 2 GPUs, numbered from 0")]
    + [(name, "is not a device: use 'auto', 'cpu'") for name in ("gpu", "", 1.5)],
)
def test_a_name_that_is_no_device(machine, name, sentence):
    machine(cuda=2)
    with pytest.raises(ValueError, match=sentence):
        pick(name)


def test_tokens_on_a_gpu_are_checked_on_request_only(monkeypatch):
    class OnGpu(torch.Tensor):
        is_cpu = False

    ids = torch.tensor([[1, 99]]).as_subclass(OnGpu)
    monkeypatch.delenv("SIMPLELLM_CHECK", raising=False)
    checks.check_tokens(ids, 50)
    monkeypatch.setenv("SIMPLELLM_CHECK", "1")
    with pytest.raises(ValueError, match="token 99 at row 0, column 1"):
        checks.check_tokens(ids, 50)


# The PyTorch that simplellm needs.


def test_the_least_version():
    for version in ("2.6.0", "2.10.0a0+git123", "3.0"):
        simplellm.check_torch(version)
    for version in ("2.5.1", "1.13.1+cu117", None, "unknown"):
        found = re.escape(version or "none")
        sentence = f"needs PyTorch 2.6 or newer and found {found} .*pip install torch==2.13.0"
        with pytest.raises(ImportError, match=sentence):
            simplellm.check_torch(version)


def python(code, *folders):
    """Run `code` in a fresh interpreter that looks into `folders` first."""
    path = os.pathsep.join(map(str, (*folders, ROOT)))
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


def test_packages_are_loaded_only_when_they_are_needed():
    code = "import simplellm.tokenizers, sys; print({'torch', 'sentencepiece'} & {*sys.modules})"
    done = python(f"{code}; print(simplellm.installed_torch())")
    assert done.stdout.split() == ["set()", torch.__version__], done.stderr


@pytest.mark.parametrize("file", ["version.py", "__init__.py"])
def test_an_old_torch_is_found_out_on_import(tmp_path, file):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("")
    (tmp_path / "torch" / file).write_text("__version__ = '1.13.1'\n")
    done = python("import simplellm", tmp_path)
    assert done.stderr.splitlines()[-1].startswith(
        "ImportError: simplellm needs PyTorch 2.6 or newer and found 1.13.1 for the Python at"
    )
