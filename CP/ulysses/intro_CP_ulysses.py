"""Context parallel, without a ring: exchange positions for heads, or gather keys and values.

    python intro_CP_ulysses.py 0     one process for each rank: 0, 1, 2 and 3
    ./run.sh                         all four at once (run.bat on Windows)
    ./run.sh --way gather            Llama 3's way in place of DeepSpeed-Ulysses'
    torchrun --nproc-per-node 4 intro_CP_ulysses.py

Attention apart, all is as in the ring, whose script has the training loop. Rank 0 prints the loss
of each step.
"""

import sys
from pathlib import Path

from heads import gathered_attention, ulysses_attention

from helpers.parallel import require_heads
from helpers.ranks.script import run_as_rank
from simplellm.options import TrainingFlags

sys.path.append(str(Path(__file__).resolve().parents[1] / "ring"))
import intro_CP_ring as ring

WAYS = {  # what takes the place of `in_a_ring`
    "ulysses": lambda positions, documents, group, _: ulysses_attention(group, documents),
    "gather": lambda positions, documents, group, _: gathered_attention(
        group, positions, documents
    ),
}


def read_flags(arguments=None):
    flags = ring.add_flags(TrainingFlags(__doc__, batch_size=1))
    flags.set_defaults(layout="contiguous")
    text = "ulysses (exchange positions for heads) or gather (keys and values)"
    flags.add_argument("--way", choices=WAYS, default="ulysses", help=text)
    return flags.parse_args(arguments)


def make_grid(options, ranks):
    """Lay the ranks out: neighbors share a sequence. ValueError if it can't be cut so."""
    if options.way == "ulysses":
        require_heads([options.heads], options.cp or ranks)
    return ring.make_grid(options, ranks)


def train(options, place, device, say=print):
    """Train for `options.steps` steps; return the losses, the model and the trace."""
    return ring.train(options, place, device, say, WAYS[options.way])


if __name__ == "__main__":
    run_as_rank(read_flags, train, fits=make_grid)
