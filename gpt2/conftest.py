"""`cd gpt2 && python -m pytest -l -v -k "a4_1_1"`: this folder is its own import root."""

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.fixture(autouse=True)
def one_thread():
    """As in the programs: one thread for each part."""
    torch.set_num_threads(1)
