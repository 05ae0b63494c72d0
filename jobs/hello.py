"""Who am I, and what does a message to the others cost? One script, started in many ways.

    python -m helpers.ranks -n 2 jobs/hello.py     on this machine, by this lab
    jobs/torchrun_one_node.sh                      on this machine, by torchrun
    python jobs/hello.py 0 --world-size 2          by hand, one process for each rank

The other ways to start it, each as a job script, stand in this folder: see README.md.
"""

import argparse
import os
import platform
import statistics
import time

from helpers.cost import all_reduce_bytes
from helpers.plain_errors import plain_errors
from helpers.ranks import connect, disconnect
from helpers.ranks.script import add_rank_flags, place_from
from simplellm.options import number, positive


def read_flags(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_rank_flags(parser, ranks=1)
    add = parser.add_argument
    add("--megabytes", type=number(float, 4e-6, 1_000_000), default=1.0, help="to add up (1)")
    add("--repeat", type=positive, default=5, help="how often; the median counts (5)")
    add("--only-say", action="store_true", help="send nothing")
    add("--fail", type=int, metavar="RANK", help="let this rank fail the first time it is started")
    return parser.parse_args(arguments)


def time_all_reduce(megabytes: float, repeat: int, device) -> float:
    """Seconds of one all-reduce of so many megabytes; the median."""
    import torch
    import torch.distributed as dist

    x = torch.ones(max(1, int(megabytes * 1e6 / 4)), device=device)
    times = []
    for _ in range(repeat + 1):  # the first one opens the connections, and does not count
        dist.barrier()
        begun = time.perf_counter()
        dist.all_reduce(x, op=dist.ReduceOp.AVG)
        x[0].item()  # on a GPU: wait until it is done
        times.append(time.perf_counter() - begun)
    if not bool((x == 1).all()):
        raise ArithmeticError("the mean of ones is not one: messages came to the wrong place")
    return statistics.median(times[1:])


def main():
    options = read_flags()
    place = place_from(options)
    here = f"number {place.local_rank} of {place.local_world_size} on {platform.node()}"
    says = f"{here}, says {place.launcher}; rank 0 is at {place.address}"
    print(f"rank {place.rank} of {place.world_size}: {says}\n", end="", flush=True)  # one write
    if options.only_say:
        return
    device = connect(place, options.backend, options.timeout)
    if options.fail == place.rank and os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0":
        raise SystemExit(f"rank {place.rank} fails, as it was asked to")
    seconds = time_all_reduce(options.megabytes, options.repeat, device)
    if place.rank == 0:
        sent = all_reduce_bytes(options.megabytes * 1e6, place.world_size)
        rate = f"{8e-6 * sent / seconds:.0f} megabits a second from each rank"
        print(f"all-reduce of {options.megabytes:g} MB: {1e3 * seconds:.2f} ms, {rate}", flush=True)
    disconnect()


if __name__ == "__main__":
    with plain_errors():
        main()
