"""Tensor parallelism: collectives from messages beside MPI's, and the loss without whole logits."""

import json
import time
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F

from bench.race import Race, both_at_once
from helpers.grade.task import load_module
from helpers.parallel import all_gather, parallel_cross_entropy
from helpers.ranks import launch

LAB = Path(__file__).resolve().parents[1] / "TP"
RANKS = 4
SIZES = {"8 kB": 1_000, "8 MB": 1_000_000}
POSITIONS, VOCABULARY, STEPS = 384, 4096, 10


def races() -> list[Race]:
    """Our all-reduce and all-to-all beside MPI's; the loss of parts beside that of all logits."""
    rows = [_of_mpi(what, *size) for what in ("all-reduce", "all-to-all") for size in SIZES.items()]
    return [*rows, _of_the_loss()]


def _of_mpi(what: str, size: str, numbers: int) -> Race:
    def both() -> list[float]:
        flags = ["--json", "--numbers", str(numbers), "--repeats", "10"]
        mpirun = load_module(LAB / "mpirun.py", "lab_mpirun")
        done = mpirun.run_mpi(["time_collectives.py", *flags], RANKS, timeout=60)
        return [1e6 * seconds for seconds in json.loads(done.out)[what]]

    name = f"{what} of {size}, {RANKS} MPI ranks"
    return both_at_once(name, "from messages", "MPI's own", both, "µs")


def _of_the_loss() -> Race:
    def run(how: str) -> float:
        return 1e3 * max(launch(timed_loss, 2, (how,), quiet=True, checked=False))

    name = f"loss of {POSITIONS} positions, {VOCABULARY} tokens, 2 ranks"
    ours, rival = (partial(run, how) for how in ("parts", "gathered"))
    return Race(name, "in parts", "gathered logits", ours, rival, "ms")


def timed_loss(how: str) -> float:
    """On a rank: seconds of a step of the loss, forward and backward."""
    torch.set_num_threads(1)
    logits = torch.randn(POSITIONS, VOCABULARY // dist.get_world_size(), requires_grad=True)
    targets = torch.randint(0, VOCABULARY, (POSITIONS,), generator=torch.Generator().manual_seed(0))
    for steps in (2, STEPS):  # the first ones warm up
        dist.barrier()
        begun = time.perf_counter()
        for _ in range(steps):
            if how == "parts":
                loss = parallel_cross_entropy(logits, targets)
            else:
                loss = F.cross_entropy(all_gather(logits), targets)
            loss.backward()
    return (time.perf_counter() - begun) / STEPS
