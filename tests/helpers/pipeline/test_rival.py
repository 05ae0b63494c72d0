"""PyTorch's own pipelining as a second judge: the same gradients from the same parts."""

import functools
import weakref

import torch

from helpers.pipeline import Pipeline
from helpers.ranks import launch
from helpers.schedules import (
    breadth_first,
    dualpipe_v,
    gpipe,
    interleaved,
    one_f_one_b,
    zb_h1,
    zb_v,
)

from .models import cut_model, make_batch, make_model

M = 4
PAIRS = {
    "GPipe": lambda size: gpipe(size, M),
    "1F1B": lambda size: one_f_one_b(size, M),
    "Interleaved1F1B": lambda size: interleaved(size, M),
    "LoopedBFS": lambda size: breadth_first(size, M),
    "InterleavedZeroBubble": lambda size: zb_h1(size, M),
    "ZBVZeroBubble": lambda size: zb_v(size, M),
    "DualPipeV": lambda size: dualpipe_v(size, M),
}


def loss(logits, targets):
    """A plain mean: torch's schedules know no tokens."""
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def make_plain():
    """No weight at two places: torch's split backward pass cannot do that."""
    return make_model(torch.float32, shared=False)


def even_batch():
    ids, _ = make_batch()
    return ids, ids.roll(-1, dims=1)


def theirs(name, model, schedule, rank):
    from torch.distributed import pipelining

    parts = cut_model(model, schedule.stages)
    stages = [
        pipelining.PipelineStage(parts[s], s, schedule.stages, torch.device("cpu"))
        for s in schedule.stages_of(rank)
    ]
    single = name in ("GPipe", "1F1B")
    kind = getattr(pipelining, f"Schedule{name}")
    runner = kind(stages[0] if single else stages, M, loss_fn=loss)
    ids, targets = even_batch()
    inputs = [ids] if 0 in schedule.stages_of(rank) else []
    last = schedule.stages - 1 in schedule.stages_of(rank)
    runner.step(*inputs, **({"target": targets} if last else {}))


class Mark(torch.autograd.Function):
    """Hands its input on; as long as the graph exists, so does its context."""

    @staticmethod
    def forward(ctx, x, graphs):
        graphs.begins()
        weakref.finalize(ctx, graphs.ends)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class Graphs:
    """Counts the graphs of a model's blocks that exist, and the most there were at one time."""

    def __init__(self, model):
        self.now = self.most = 0
        for block in list(model)[1:-1]:
            block.register_forward_hook(lambda block, inputs, y: Mark.apply(y, self))

    def begins(self):
        self.now += 1
        self.most = max(self.most, self.now)

    def ends(self):
        self.now -= 1


def both():
    import torch.distributed as dist

    rank, answers = dist.get_rank(), {}
    for name, make in PAIRS.items():
        schedule = make(dist.get_world_size())
        rival, ours = make_plain(), make_plain()
        alive = [Graphs(model) for model in (ours, rival)]
        theirs(name, rival, schedule, rank)
        parts = cut_model(ours, schedule.stages)
        stages = {s: parts[s] for s in schedule.stages_of(rank)}
        Pipeline(schedule, stages, loss=loss).step(*even_batch())
        answers[name] = [
            {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
            for model in (ours, rival)
        ] + [graphs.most for graphs in alive]
    return answers


@functools.cache
def launched():
    return launch(both, ranks=2, quiet=True, checked=False)


def test_no_more_activations_are_alive_than_with_torch():
    """Counted in one way for both: forwards begun whose graph still exists, in weak references."""
    for name in PAIRS:
        for answer in launched():
            ours, rival = answer[name][2:]
            assert 0 < ours <= rival, name


def test_the_gradients_are_those_of_torch():
    names = {name for name, _ in make_plain().named_parameters()}
    answers = launched()
    for name in PAIRS:
        ours, rival = {}, {}
        for answer in answers:
            ours |= answer[name][0]
            rival |= answer[name][1]
        assert ours.keys() == rival.keys() == names
        for key, tensor in rival.items():
            torch.testing.assert_close(ours[key], tensor, rtol=2e-5, atol=2e-6, msg=f"{name} {key}")
