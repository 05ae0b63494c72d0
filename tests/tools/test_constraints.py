"""constraints.txt: one line a package, without what set-up chooses by itself."""

import os
import re
from importlib import metadata
from pathlib import Path

import pytest

from constraints import pins, too_new

TEXT = (Path(__file__).resolve().parents[2] / "constraints.txt").read_text(encoding="utf-8")


def test_names_are_one_spelling_and_builds_of_torch_are_left_out():
    found = {"PyYAML": "6.0", "jupyter_core": "5.9", "torch": "2.13.0+cpu", "nvidia-nccl-cu13": "2"}
    assert pins(found).splitlines()[1:] == ["jupyter-core==5.9", "pyyaml==6.0"]


@pytest.mark.parametrize("name", ["numpy", "cloudpickle", "jupyterlab", "pytest", "matplotlib"])
def test_these_tests_run_with_the_versions_that_are_written_down(name):
    newest = os.environ.get("LAB_NEWEST")
    assert newest or re.search(
        rf"^{name}=={re.escape(metadata.version(name))}$", TEXT, re.MULTILINE
    )


def test_the_oldest_python_can_have_every_version_that_is_written_down():
    """Debian 12 has Python 3.11.2; one version that it can't have cost its set-up five minutes."""
    assert not set(too_new(metadata.distributions())) & set(TEXT.splitlines())
