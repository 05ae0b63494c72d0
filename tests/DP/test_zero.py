"""ZeRO by hand ends with one device's weights, and keeps and sends what the formulas say.

What a rank holds at its peak, lesson 13 measures, and that FSDP2 is one device, too.
"""

import functools

import memory
import pytest
import torch
from intro_ZeRO import STAGES, units_of
from torch import nn

from helpers.ranks import find_place, launch
from helpers.trace import Recorder
from tests.simplellm.small import small

pytestmark = pytest.mark.ranks

RANKS, STEPS = 3, 2
SENT = 1, 2, 2, 3  # by stage, in times the model's bytes: each half of an all-reduce once
OPTIMIZERS = {
    "adam": functools.partial(torch.optim.Adam, lr=1e-2),
    "sgd": functools.partial(torch.optim.SGD, lr=0.5),
}
UNUSED = "a weight that is not used"
RUNS = [("plain", "adam"), ("tied", "adam"), (UNUSED, "sgd")]
# float64, relative to weights below 1; Adam divides by small gradients
assert_same = functools.partial(torch.testing.assert_close, rtol=0, atol=1e-11)


def make(kind):
    net = small(dmodel=12, num_heads=2, ctx_size=8, padding_idx=0).double()
    if kind == "tied":
        net.lm_head.weight = net.model.embed_tokens.weight
    if kind == UNUSED:
        net.model.layers[0].spare = nn.Parameter(torch.ones(5).double())
    return net


def loss_of(net, rank, step):
    draw = torch.Generator().manual_seed(10 * step + rank)
    ids = torch.randint(0, 50, (2, 8), generator=draw)
    return nn.functional.cross_entropy(net(ids).flatten(0, 1), ids.roll(-1, 1).flatten())


def zero(kind, name):
    """On a rank: for each stage the weights, and the bytes that were kept and sent."""
    rank, answers = find_place().rank, []
    for stage, kind_of_trainer in enumerate(STAGES):
        net, recorder = make(kind), Recorder(rank)
        trainer = kind_of_trainer(units_of(net), OPTIMIZERS[name], recorder)
        for step in range(STEPS):
            trainer.zero_grad()
            loss_of(net, rank, step).backward()
            kept = memory.kept(net, trainer.optimizer)
            trainer.step()
        sent = sum(e.info["bytes"] for e in recorder.trace().events)
        for unit in trainer.units if stage else ():
            unit.gather()
        answers.append(({n: p.detach().clone() for n, p in net.named_parameters()}, kept, sent))
        if stage > 1:
            loss_of(net, 0, 0).backward()
            with pytest.raises(RuntimeError, match="call step.. after each backward, or add"):
                loss_of(net, 0, 1).backward()
    return answers


def train(net, optimizer, ranks):
    """Some steps on what these ranks read; return the weights."""
    for step in range(STEPS):
        optimizer.zero_grad()
        (sum(loss_of(net, rank, step) for rank in ranks) / len(ranks)).backward()
        optimizer.step()
    return {name: p.detach() for name, p in net.named_parameters()}


@pytest.mark.slow_for("a weight that")
@pytest.mark.parametrize(("kind", "name"), RUNS)
def test_each_stage_is_one_device_and_keeps_and_sends_what_the_formulas_say(kind, name):
    net = make(kind)
    count = sum(p.numel() for p in net.parameters())
    right = train(net, OPTIMIZERS[name](net.parameters()), range(RANKS))
    padding = 2 * 8 * RANKS * 5  # five units, each padded by less than a number a rank
    for rank in launch(zero, RANKS, (kind, name), quiet=True, timeout=400):
        for stage, (weights, kept, sent) in enumerate(rank):
            assert_same(weights, right)
            if kind == UNUSED:
                continue
            for part, size in memory.expected(2 * count, stage, RANKS).items():  # float64
                assert size <= kept[part] + 1 and kept[part] <= size + padding, (stage, part)
            if kind == "plain":
                assert sent / STEPS == pytest.approx(SENT[stage] * 8 * count, rel=0.02)
