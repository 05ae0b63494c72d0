"""PyTorch's own pipelining as a second judge: the same gradients from the same parts."""

import torch

from helpers.pipeline import Pipeline
from helpers.ranks import launch
from helpers.schedules import gpipe, interleaved, one_f_one_b, zb_h1

from .models import cut_model, make_batch, make_model

M = 4
PAIRS = {
    "GPipe": lambda size: gpipe(size, M),
    "1F1B": lambda size: one_f_one_b(size, M),
    "Interleaved1F1B": lambda size: interleaved(size, M),
    "InterleavedZeroBubble": lambda size: zb_h1(size, M),
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


def both():
    import torch.distributed as dist

    rank, answers = dist.get_rank(), {}
    for name, make in PAIRS.items():
        schedule = make(dist.get_world_size())
        rival, ours = make_plain(), make_plain()
        theirs(name, rival, schedule, rank)
        parts = cut_model(ours, schedule.stages)
        stages = {s: parts[s] for s in schedule.stages_of(rank)}
        Pipeline(schedule, stages, loss=loss).step(*even_batch())
        answers[name] = [
            {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
            for model in (ours, rival)
        ]
    return answers


def test_the_gradients_are_those_of_torch():
    names = {name for name, _ in make_plain().named_parameters()}
    answers = launch(both, ranks=2, quiet=True, checked=False)
    for name in PAIRS:
        ours, rival = {}, {}
        for answer in answers:
            ours |= answer[name][0]
            rival |= answer[name][1]
        assert ours.keys() == rival.keys() == names
        for key, tensor in rival.items():
            torch.testing.assert_close(ours[key], tensor, rtol=2e-5, atol=2e-6, msg=f"{name} {key}")
