"""What helpers/private.py expects of torch and Python, where no test of its users would notice.

Hangs that are told, refused ranks, ends of ranks and of fork servers, cells of a notebook and the
backward pass in two halves show the rest.
"""

from pathlib import Path

import pytest
import torch

from helpers import private
from helpers.ranks import launch

pytestmark = [pytest.mark.slow, pytest.mark.ranks]


def flat():
    from torch.distributed.fsdp import FullyShardedDataParallel

    net = FullyShardedDataParallel(torch.nn.Linear(2, 2), device_id=torch.device("cpu"))
    return [name for name, _ in net.named_parameters()]


def test_parameters_that_fsdp1_has_flattened_are_known_by_their_names():
    for names in launch(flat, 2, quiet=True, checked=False):
        assert names and all(private.FLAT in name for name in names)


def test_every_file_that_waits_is_there():
    assert all(Path(name).is_file() for name in private.files_that_wait())
