"""How to spread the training of a model over so many devices: the fastest layout that fits.

    python choose_layout.py --model_config llama_7b_config.json --gpus 64 --batch 128

Times and memory are computed, nothing is run.
"""

import argparse
from contextlib import suppress
from itertools import product

from helpers.cluster import PRESETS, Layout, estimate, preset
from helpers.cost import read_config
from helpers.plain_errors import plain_errors


def choose_layout(model, machine, gpus, batch):
    """The `Layout` that takes the least time for a step, of those that fit into memory.

    Try tp, pp, micro_batch and recompute; sequence_parallel where tp > 1; ZeRO 1 where dp > 1. The
    sequence is the model's longest. estimate(model, layout, machine) returns something with .fits
    and .seconds; like Layout(...), it raises ValueError for what can't be cut that way.
    """
    # BEGIN SOLUTION CO-3
    divisors, found = [d for d in range(1, gpus + 1) if gpus % d == 0], []
    ways = product(divisors, divisors, (1, 2, 4, 8, 16), ("none", "selective", "full"))
    for tp, pp, micro, how in ways:
        if tp <= machine.node and gpus % (tp * pp) == 0:
            dp = gpus // (tp * pp)
            cut = batch, model.positions, dp, pp, tp, 1, micro, how
            with suppress(ValueError):
                layout = Layout(*cut, sequence_parallel=tp > 1, zero=int(dp > 1))
                found.append(estimate(model, layout, machine))
    fitting = [done for done in found if done.fits]
    return min(fitting, key=lambda done: done.seconds).layout if fitting else None
    # END SOLUTION


if __name__ == "__main__":
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--model_config", metavar="PATH", required=True, help="a config.json")
    parser.add_argument("--gpus", type=int, default=8, help="how many devices (8)")
    parser.add_argument("--batch", type=int, default=128, help="sequences of a step (128)")
    parser.add_argument("--machine", default="A100", help=", ".join(PRESETS))
    args = parser.parse_args()
    if not all(1 <= count <= 1_000_000 for count in (args.gpus, args.batch)):
        parser.error("--gpus and --batch: give 1 to 1,000,000")
    with plain_errors():
        model, machine = read_config(args.model_config), preset(args.machine)
        layout = choose_layout(model, machine, args.gpus, args.batch)
        print(estimate(model, layout, machine) if layout else "no layout fits")
