"""What helpers/private.py expects of torch and Python, where no test of its users would notice.

Hangs that are told, refused ranks, ended fork servers, cells of a notebook and the backward pass in
two halves show the rest.
"""

import subprocess
import sys
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


ENDS = """
import atexit, os, threading, time, weakref
from helpers import private

atexit.register(print, "forgotten")
class Kept: pass
kept = [Kept(), Kept()]
weakref.finalize(kept[0], print, "forgotten too")
private.forget_exit_handlers()
weakref.finalize(kept[1], print, "finalizer")
atexit.register(print, "handler")
threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
private.end_as_python_does()
print("end", flush=True)
os._exit(0)
"""


def test_a_rank_ends_as_python_does_but_for_what_it_was_forked_from():
    run = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, text=True)
    assert run.stdout.split() == ["thread", "handler", "finalizer", "end"], run.stderr
