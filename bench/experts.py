"""A step with experts beside a dense step with as many active parameters."""

import sys
import time
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist

from bench.race import Race
from helpers.ranks import launch

LAB = Path(__file__).resolve().parents[1]
RANKS, STEPS = 4, 5
NOTE = "Experts: 8 of half the width, 2 for a token; a loop over experts, without grouped kernels."


def races() -> list[Race]:
    """Two races: on one device, and on four ranks that share the experts."""
    rows = []
    for ranks in (1, RANKS):

        def run(experts: int, ranks: int = ranks) -> float:
            return 1e3 * max(launch(timed, ranks, (experts,), quiet=True, checked=False))

        where = "one device" if ranks == 1 else f"{ranks} ranks"
        ours, rival = partial(run, 8), partial(run, 0)
        rows.append(Race(f"a step, {where}", "experts", "dense", ours, rival, "ms", note=NOTE))
    return rows


def timed(experts: int) -> float:
    """On a rank: seconds of a training step; experts: of each layer, 0 for a dense model."""
    sys.path[:0] = [str(LAB / "EP/experts")]
    import intro_EP as script

    torch.set_num_threads(1)
    options = script.read_flags(["--batch-size", "2"])
    tokenizer, net = script.prepare(options, "cpu")
    _, replicas = script.make_groups(dist.get_world_size())
    if experts:
        script.give_experts(net, script.sizes(options))
        script.spread(net)
    ids = next(iter(script.make_stories(options, tokenizer, dist.get_rank(), RANKS, quiet=True)))
    optimizer = script.make_optimizer(options, net)
    for steps in (2, STEPS):  # the first ones warm up
        dist.barrier()
        begun = time.perf_counter()
        for _ in range(steps):
            optimizer.zero_grad()
            script.causalLLMLoss(net(ids), ids, tokenizer.vocab_size).backward()
            script.average_gradients(net, replicas)
            optimizer.step()
    return (time.perf_counter() - begun) / STEPS
