"""Which device is picked, and which PyTorch is good enough."""

import subprocess
import sys
from importlib import metadata

import pytest
import torch

import simplellm
from simplellm.devices import pick, say_once
from tests.simplellm.small import small


@pytest.fixture
def machine(monkeypatch):
    """A machine with so many GPUs, and perhaps Apple's."""
    say_once.cache_clear()

    def has(cuda=0, mps=False):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    return has


@pytest.mark.parametrize(
    ("cuda", "mps", "asked", "given"),
    [(0, False, "auto", "cpu"), (2, False, None, "cuda"), (0, True, "auto", "cpu")]
    + [(0, True, "mps", "mps"), (2, False, "cuda:1", "cuda:1"), (2, False, "cpu", "cpu")],
)
def test_what_is_there_is_given(machine, capsys, cuda, mps, asked, given):
    machine(cuda, mps)
    assert pick(asked) == torch.device(given) and not capsys.readouterr().err


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_what_is_not_there_becomes_the_cpu_and_is_said_once(machine, capsys, name):
    machine()
    assert pick(name) == small(device=name).device == torch.device("cpu")
    said = capsys.readouterr().err
    assert said == f"simplellm: there is no {name} device here, so the CPU is used instead.\n"


def test_a_name_that_is_no_device(machine):
    machine(cuda=2)
    with pytest.raises(ValueError, match="no device cuda:2: this machine has 2 GPUs, numbered fr"):
        pick("cuda:2")
    with pytest.raises(ValueError, match="'gpu' is not a device: use 'auto', 'cpu'"):
        pick("gpu")


def test_the_least_version(monkeypatch):
    for version, fits in {"2.6.0": 1, "2.10.0a0+git": 1, "3.0": 1, "2.5.1": 0, "1.13": 0}.items():
        monkeypatch.setattr(metadata, "version", lambda _, version=version: version)
        if fits:
            simplellm.check_torch()
        else:
            with pytest.raises(ImportError, match=f"2.6 or newer and found {version} for the Py"):
                simplellm.check_torch()


def test_packages_are_loaded_only_when_they_are_needed():
    code = "import simplellm.tokenizers, sys; print({'torch', 'sentencepiece'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["set()"], done.stderr
