"""The GPT-2 folder is an import root of its own: these tests run in a process of their own."""

import sys
from pathlib import Path

import pytest
import torch

GPT2 = Path(__file__).resolve().parents[2] / "gpt2"
if str(GPT2) not in sys.path:
    sys.path.insert(0, str(GPT2))


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)
