"""Our executor beside torch.distributed.pipelining: the same stages, ranks, threads and order."""

from functools import partial

import torch
import torch.distributed as dist
from torch import nn

from bench.race import Race, in_the_same_ranks, timed_in_turn
from helpers.pipeline import Pipeline
from helpers.schedules import gpipe, interleaved, one_f_one_b, zb_h1, zb_v
from helpers.trace import Recorder

VOCAB = 256
# ranks, micro-batches, rows of a micro-batch, tokens of a row, width, blocks of a stage, steps
COMPUTING = (2, 8, 2, 64, 256, 2, 6)
# No block, one small layer; and more ranks than two cores have room for. With two ranks a step
# waits for gloo most of the time, and that wait is the same for whoever asked.
OVERHEAD = (4, 16, 1, 8, 16, 0, 20)
BUILDERS = {
    "GPipe": gpipe,
    "1F1B": one_f_one_b,
    "Interleaved1F1B": interleaved,
    "InterleavedZeroBubble": zb_h1,
    "ZBVZeroBubble": zb_v,
}


def races() -> list[Race]:
    """Ours beside torch's for each schedule where each cost dominates; the trace."""
    rows = []
    for where, sizes in (("computing dominates", COMPUTING), ("overhead dominates", OVERHEAD)):
        pairs = [(name, name, ("ours", "torch")) for name in BUILDERS]
        for what, name, hows in [*pairs, ("1F1B with a trace", "1F1B", ("traced", "ours"))]:
            what = f"{what}, {where}, {sizes[0]} ranks"
            work = timed, sizes[0], (name, hows, sizes)
            rows.append(in_the_same_ranks(what, *hows, *work))
    return rows


class Block(nn.Module):
    """A feed-forward layer with its norm, and what it adds to."""

    def __init__(self, width: int):
        super().__init__()
        self.norm, self.up = nn.LayerNorm(width), nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def make_stage(number: int, count: int, width: int, blocks: int) -> nn.Module:
    """A stage of a small model: token numbers go into the first, logits come from the last."""
    torch.manual_seed(number)
    parts: list[nn.Module] = [Block(width) for _ in range(blocks)]
    parts = parts or [nn.Linear(width, width), nn.GELU()]
    parts = [nn.Embedding(VOCAB, width)] * (number == 0) + parts
    return nn.Sequential(*parts, *[nn.Linear(width, VOCAB)] * (number == count - 1))


def loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def timed(name: str, hows: tuple[str, str], sizes: tuple) -> list[float]:
    """On a rank, of each way: the median of the seconds of a step, forward and backward."""
    stages, ways = zip(*(_way(name, how, sizes) for how in hows), strict=True)
    before = [nn.ModuleList(each.values()).zero_grad for each in stages]
    return timed_in_turn(ways, sizes[-1], 3, before)


def _way(name: str, how: str, sizes: tuple):
    """The stages of this rank, and a function that does one step with them."""
    size, m, rows, length, width, blocks, _ = sizes
    rank, schedule = dist.get_rank(), BUILDERS[name](size, m)
    mine = schedule.stages_of(rank)
    stages = {s: make_stage(s, schedule.stages, width, blocks) for s in mine}
    ids = torch.randint(0, VOCAB, (m * rows, length))
    if how == "torch":
        return stages, _theirs(name, schedule, stages, ids, m)
    recorder = Recorder(rank) if how == "traced" else None
    return stages, partial(Pipeline(schedule, stages, loss=loss, recorder=recorder).step, ids, ids)


def _theirs(name, schedule, stages, ids, m):
    from torch.distributed import pipelining

    parts = [
        pipelining.PipelineStage(stage, s, schedule.stages, torch.device("cpu"))
        for s, stage in stages.items()
    ]
    kind = getattr(pipelining, f"Schedule{name}")
    runner = kind(parts[0] if name in ("GPipe", "1F1B") else parts, m, loss_fn=loss)
    inputs = [ids] if 0 in stages else []
    targets = {"target": ids} if schedule.stages - 1 in stages else {}
    return partial(runner.step, *inputs, **targets)
