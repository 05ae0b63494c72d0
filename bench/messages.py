"""What it costs that every call of torch.distributed is written down, and that it is checked."""

import os
import time

import torch
import torch.distributed as dist

from bench.race import Race
from helpers.hang.monitor import the_monitor
from helpers.ranks import launch

COUNT = 200  # operations in one time
SIZES = {"4 kB": 1_000, "1 MB": 250_000}


def races() -> list[Race]:
    """Watched (always) beside torch alone; checked (in lessons) beside watched, and torch's own."""
    return [
        race
        for name, size in SIZES.items()
        for race in (
            _race(f"all_reduce of {name}, 2 ranks", size, "watched", "torch alone"),
            _race(f"all_reduce of {name}, 2 ranks", size, "checked", "torch alone"),
            _race(f"all_reduce of {name}, 2 ranks", size, "checked", "torch's DETAIL"),
            _race(f"message of {name}, there and back", size, "watched", "torch alone"),
            _race(f"message of {name}, there and back", size, "checked", "torch alone"),
        )
    ]


def _race(name: str, size: int, ours: str, rival: str) -> Race:
    what = "message" if name.startswith("message") else "all_reduce"

    def run(how: str) -> float:
        times = launch(timed, 2, (what, size, how), quiet=True, checked=how == "checked")
        return 1e6 * max(times) / COUNT

    return Race(name, ours, rival, lambda: run(ours), lambda: run(rival), unit="µs")


def timed(what: str, size: int, how: str) -> float:
    """On a rank: seconds for COUNT operations."""
    x, group = torch.zeros(size), None
    if how == "torch's DETAIL":
        os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"
        dist.set_debug_level_from_env()
        group = dist.new_group()
    if how in ("torch alone", "torch's DETAIL"):
        the_monitor().rest()
    for count in (20, COUNT):  # the first ones warm up
        begun = time.perf_counter()
        for _ in range(count):
            if what == "all_reduce":
                dist.all_reduce(x, group=group)
            elif dist.get_rank() == 0:
                dist.send(x, 1)
                dist.recv(x, 1)
            else:
                dist.recv(x, 0)
                dist.send(x, 0)
    return time.perf_counter() - begun
