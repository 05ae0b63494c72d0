"""How long until three ranks have done their first all-reduce."""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist

from bench.race import Race
from helpers.ranks import keep_warm, launch

RANKS = 3
SCRIPT = """
import os, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
os.write(1, f"at {time.time()}\\n".encode())  # one write: the ranks' lines never mix
dist.barrier()
dist.destroy_process_group()
"""


def races() -> list[Race]:
    """Ours, cold and warm, beside torch's launcher."""
    name = f"{RANKS} ranks to their first all-reduce"
    return [
        Race(name, "launch(), cold", "torchrun", cold, torchrun),
        Race(name, "launch(), warm", "torchrun", warm, torchrun),
    ]


def first_all_reduce() -> float:
    """On a rank: when it was done."""
    dist.all_reduce(torch.ones(3))
    return time.time()


def warm() -> float:
    """As the second cell of a notebook finds it."""
    keep_warm(RANKS, imports=[__name__])  # a notebook's function needs no import on its ranks
    launch(first_all_reduce, RANKS, quiet=True)
    time.sleep(1.0)  # a person reads for longer than this
    return timed()


def cold() -> float:
    """As the first cell of a notebook finds it: nothing has been prepared."""
    keep_warm(0)
    return timed()


def timed() -> float:
    begun = time.time()
    return max(launch(first_all_reduce, RANKS, quiet=True)) - begun


def torchrun() -> float:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "first.py"
        script.write_text(SCRIPT)
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        begun = time.time()
        done = subprocess.run(
            [*command, f"--nproc-per-node={RANKS}", str(script)],
            capture_output=True,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
    if done.returncode:
        raise RuntimeError(f"torchrun failed: {done.stderr[-2000:]}")
    return max(float(at) for at in re.findall(r"^at (\S+)$", done.stdout, re.MULTILINE)) - begun
