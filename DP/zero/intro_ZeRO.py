"""ZeRO: data parallel, but no rank keeps what another rank keeps already.

    python intro_ZeRO.py 0                   one process for each rank: 0, 1 and 2
    ./run.sh --stage 3                       all three at once (run.bat on Windows)
    torchrun --nproc-per-node 3 intro_ZeRO.py --stage 2

Stage 1 cuts the optimizer's state into one part a rank, stage 2 the gradients too, stage 3 the
weights too; stage 0 is plain data parallelism. At the end each rank says what it kept.
"""

from functools import partial

import torch.distributed as dist
from memory import expected, kept
from zero1 import Zero1, parameters_of
from zero2 import Zero2
from zero3 import Zero3

from helpers.ranks.script import add_run_flags, run_as_rank
from helpers.trace import Recorder
from simplellm.losses import causalLLMLoss, check_finite
from simplellm.options import TrainingFlags, make_optimizer, make_stories, prepare


def read_flags(arguments=None):
    flags = add_run_flags(TrainingFlags(__doc__, batch_size=1), ranks=3)
    flags.add_argument("--stage", type=int, choices=range(4), default=1, help="of ZeRO (1)")
    return flags.parse_args(arguments)


class Zero0:
    """Plain data parallelism, with the same three methods."""

    def __init__(self, units, make_optimizer, recorder):
        self.parameters = parameters_of(module for unit in units for module in unit)
        self.optimizer, self.recorder = make_optimizer(self.parameters), recorder

    def zero_grad(self):
        self.optimizer.zero_grad()

    def step(self):
        for p in [p for p in self.parameters if p.grad is not None]:
            with self.recorder.span("all-reduce", bytes=p.grad.nbytes):
                dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
        self.optimizer.step()


STAGES = (Zero0, Zero1, Zero2, Zero3)


def units_of(net):
    """Return what travels together: each block; the ends, as one where they share their weights."""
    body, head = net.model, net.lm_head
    middle = [*([block] for block in body.layers), [body.norm]]
    if head.weight is body.embed_tokens.weight:
        return [[body.embed_tokens, head], *middle]
    return [[body.embed_tokens], *middle, [head]]


def train(options, place, device, say=print):
    """Train; return losses, the number of parameters, the bytes this rank keeps, the trace."""
    tokenizer, net = prepare(options, device)
    count = sum(p.numel() for p in net.parameters())
    recorder = Recorder(rank=place.rank)
    trainer = STAGES[options.stage](units_of(net), partial(make_optimizer, options), recorder)
    stories = iter(make_stories(options, tokenizer, place.rank, place.world_size))
    losses, most = [], {}
    dist.barrier()  # all ranks begin together

    for step in range(options.steps):
        ids = next(stories).to(device)
        trainer.zero_grad()
        with recorder.span("F"):
            loss = causalLLMLoss(net(ids), ids, tokenizer.vocab_size)
        with recorder.span("B"):
            loss.backward()
        most = kept(net, trainer.optimizer)
        with recorder.span("update"):
            trainer.step()
        losses.append(check_finite(loss, step))
        say(step, losses[-1])

    return losses, count, most, recorder.trace()


def print_kept(options, place, result):
    """Print what this rank kept beside what the formula says."""
    _, count, most, _ = result
    for name, size in expected(count, options.stage, place.world_size).items():
        found = most.get(name, 0)
        print(f"{name:9}  {found / 1e6:7.2f} MB kept, {size / 1e6:7.2f} MB by the formula")


if __name__ == "__main__":
    run_as_rank(read_flags, train, tell=print_kept)
