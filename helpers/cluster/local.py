"""This machine as a `Machine`: measured, not guessed."""

import os
import time
from collections.abc import Callable
from dataclasses import replace

from helpers.cluster.machine import Interconnect, Machine
from helpers.cluster.presets import LAPTOP

SIZES = (48, 1024)  # of the products that are timed
COPIED = 64 * 2**20


def measure(inside: Interconnect | None = None, seconds: float = 0.3) -> Machine:
    """What one process of this machine reaches, by torch on the CPU, in 32 bits.

    One device is one core, as in the lessons. The model counts two bytes for a value, and here a
    value has four: so half of each bandwidth is given. The peak is the fastest product that was
    seen, so `matmul` is 1.

    inside: the network between two processes here, if you have measured it; left out, that of the
    preset "laptop". seconds: for each of the four measurements.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _measured(torch, inside or LAPTOP.inside, seconds)
    finally:
        torch.set_num_threads(threads)


def _measured(torch, inside: Interconnect, seconds: float) -> Machine:
    small, large = (_product_rate(torch, n, seconds) for n in SIZES)
    peak = max(small, large)
    # rate(n) = peak / (1 + half * 3/n): the half that explains the small product
    half = max(0.0, (peak / small - 1) * SIZES[0] / 3)
    source = torch.zeros(COPIED, dtype=torch.uint8)
    target = torch.zeros_like(source)
    copied = 2 * COPIED / _best(lambda: target.copy_(source), seconds)
    one = torch.zeros(1)
    launch = _best(lambda: one.add_(1), seconds)
    cores = os.cpu_count() or 1
    return replace(
        LAPTOP,
        name="this machine",
        peak=peak,
        memory=_memory() / cores,
        node=cores,
        memory_bandwidth=copied / 2,
        inside=replace(inside, bandwidth=inside.bandwidth / 2),
        matmul=1.0,
        matmul_half=half,
        memory_share=1.0,
        launch=launch,
    )


def _product_rate(torch, n: int, seconds: float) -> float:
    a, b = torch.randn(n, n), torch.randn(n, n)
    return 2 * n**3 / _best(lambda: a @ b, seconds)


def _best(work: Callable[[], object], seconds: float) -> float:
    """The shortest time of one call, of all that fit into so many seconds."""
    work()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begun = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begun)
    return best


def _memory() -> float:
    """Bytes of this machine; of the preset's four devices where it cannot be asked."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # Windows
        return LAPTOP.memory * LAPTOP.node
