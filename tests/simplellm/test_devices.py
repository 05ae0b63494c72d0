"""Which device is picked, and which PyTorch is good enough."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import simplellm
from simplellm import checks, devices
from simplellm.devices import pick, say_once
from simplellm.llama import CausalLLama, LLama

ROOT = Path(simplellm.__file__).parents[1]


@pytest.fixture
def machine(monkeypatch):
    """Pretend to have some devices and not others."""
    say_once.cache_clear()

    def has(cuda=0, mps=False):
        monkeypatch.setattr(devices, "has_cuda", lambda: cuda > 0)
        monkeypatch.setattr(devices, "has_mps", lambda: mps)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)

    return has


def test_auto_is_the_best_one_present(machine):
    machine(cuda=1, mps=True)
    assert pick() == torch.device("cuda")
    machine(mps=True)
    assert pick("mps") == torch.device("mps")
    assert pick("auto") == torch.device("cpu")
    assert pick(None) == torch.device("cpu")


def test_what_is_there_is_given(machine, capsys):
    machine(cuda=2)
    assert pick("cuda:1") == torch.device("cuda:1")
    assert pick("cpu") == pick(torch.device("cpu")) == torch.device("cpu")
    assert pick("meta").type == "meta"
    assert not capsys.readouterr().err


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_what_is_not_there_becomes_the_cpu_and_is_said_once(machine, capsys, name):
    machine()
    assert pick(name) == pick(name) == torch.device("cpu")
    said = capsys.readouterr().err
    assert said == f"simplellm: there is no {name} device here, so the CPU is used instead.\n"


def test_a_model_made_for_a_gpu_runs_without_one(machine, capsys):
    machine()
    net = LLama(CausalLLama, 50, dmodel=8, num_heads=2, n_layers=1, device="cuda")
    assert net.device == torch.device("cpu")
    assert capsys.readouterr().err.count("\n") == 1


def test_a_gpu_number_that_is_not_there(machine):
    machine(cuda=2)
    with pytest.raises(
        ValueError, match="no device cuda:2: this machine has 2 GPUs, numbered from"
    ):
        pick("cuda:2")


@pytest.mark.parametrize("name", ["gpu", "", 1.5])
def test_a_name_that_is_no_device(name):
    with pytest.raises(ValueError, match="is not a device: use 'auto', 'cpu'"):
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


@pytest.mark.parametrize("version", ["2.6.0", "2.10.0a0+git123", "3.0"])
def test_a_torch_that_is_new_enough(version):
    simplellm.check_torch(version)


@pytest.mark.parametrize("version", ["2.5.1", "1.13.1+cu117", None, "unknown"])
def test_a_torch_that_is_too_old_or_missing(version):
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


def test_importing_simplellm_does_not_load_torch():
    code = "import simplellm, sys; print('torch' in sys.modules, simplellm.installed_torch())"
    done = python(code)
    assert done.stdout.split() == ["False", torch.__version__], done.stderr


@pytest.mark.parametrize("file", ["version.py", "__init__.py"])
def test_an_old_torch_is_found_out_on_import(tmp_path, file):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("")
    (tmp_path / "torch" / file).write_text("__version__ = '1.13.1'\n")
    done = python("import simplellm", tmp_path)
    assert done.stderr.splitlines()[-1].startswith(
        "ImportError: simplellm needs PyTorch 2.6 or newer and found 1.13.1 for the Python at"
    )
