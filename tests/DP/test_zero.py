"""ZeRO by hand: one device's weights, FSDP2's weights, and the memory that the formulas say."""

import functools

import memory
import peak
import pytest
import torch
import torchs_own
from intro_ZeRO import Zero0, units_of
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from zero1 import Zero1
from zero2 import Zero2
from zero3 import Zero3

from helpers.ranks import find_place, launch
from helpers.trace import Recorder
from simplellm.llama import CausalLLama, LLama

pytestmark = pytest.mark.ranks

TRAINERS = Zero0, Zero1, Zero2, Zero3
RANKS, STEPS = 3, 2
TOLERANCE = 1e-11  # float64, relative to weights below 1; Adam divides by small gradients
OPTIMIZERS = {"sgd": (torch.optim.SGD, 0.5), "adam": (torch.optim.Adam, 1e-2)}
UNUSED = "a weight that is not used"
RUNS = [("plain", "sgd"), ("plain", "adam"), ("tied", "sgd"), ("tied", "adam"), (UNUSED, "sgd")]


def make(kind):
    torch.manual_seed(0)
    sizes = {"dmodel": 12, "num_heads": 2, "n_layers": 2, "ctx_size": 8, "padding_idx": 0}
    net = LLama(CausalLLama, 50, **sizes, device="cpu").double()
    if kind == "tied":
        net.tie()
    if kind == UNUSED:
        net.model.layers[0].spare = nn.Parameter(torch.ones(5).double())
    return net


def loss_of(net, rank, step):
    draw = torch.Generator().manual_seed(10 * step + rank)
    ids = torch.randint(0, 50, (2, 8), generator=draw)
    return nn.functional.cross_entropy(net(ids).flatten(0, 1), ids.roll(-1, 1).flatten())


def zero(kind, name):
    """On a rank: for each stage the weights, the bytes, what was sent."""
    rank, (optimizer, lr), answers = find_place().rank, OPTIMIZERS[name], []
    for stage in (0, 1, 2, 3):
        net, recorder = make(kind), Recorder(rank)
        trainer = TRAINERS[stage](units_of(net), lambda parts: optimizer(parts, lr=lr), recorder)
        for step in range(STEPS):
            trainer.zero_grad()
            loss_of(net, rank, step).backward()
            kept = memory.kept(net, [trainer.optimizer])
            trainer.step()
        sent = [(e.kind, e.info["bytes"]) for e in recorder.trace().events]
        for unit in trainer.units if stage else ():
            unit.gather()
        weights = {n: p.detach().clone() for n, p in net.named_parameters()}
        answers.append((weights, kept, sent))
    return answers


def one_device(kind, name):
    net = make(kind)
    optimizer, lr = OPTIMIZERS[name]
    trainer = optimizer(net.parameters(), lr=lr)
    for step in range(STEPS):
        trainer.zero_grad()
        (sum(loss_of(net, rank, step) for rank in range(RANKS)) / RANKS).backward()
        trainer.step()
    return {n: p.detach() for n, p in net.named_parameters()}


@functools.cache
def answers(kind, name):
    return launch(zero, RANKS, (kind, name), quiet=True, timeout=400), one_device(kind, name)


@pytest.mark.slow_for("a weight that", "tied-sgd")
@pytest.mark.parametrize("stage", [0, 1, 2, 3])
@pytest.mark.parametrize(("kind", "name"), RUNS)
def test_each_stage_is_one_device(stage, kind, name):
    ranks, expected = answers(kind, name)
    for rank in ranks:
        weights = rank[stage][0]
        assert weights.keys() == expected.keys()
        for key, weight in weights.items():
            assert (weight - expected[key]).abs().max() < TOLERANCE, key


@pytest.mark.parametrize("stage, volume", [(0, 1), (1, 2), (2, 2), (3, 3)])
@pytest.mark.parametrize("kind", ["plain", "tied"])
def test_a_rank_keeps_and_sends_what_the_formulas_say(stage, volume, kind):
    """Sent in units of the model's bytes a step: 2 for stages 1 and 2, 3 for stage 3."""
    count = sum(p.numel() for p in make(kind).parameters())
    expected = memory.expected(count, stage, RANKS, bytes_each=8)
    padding = 2 * 8 * RANKS * 5  # five units, each padded by less than a number a rank
    for _, kept, sent in (rank[stage] for rank in answers(kind, "adam")[0]):
        for name, size in expected.items():
            assert size <= kept[name] + 1 and kept[name] <= size + padding, (name, kept, size)
        if kind == "plain":
            found = sum(size for _, size in sent) / STEPS
            assert found == pytest.approx(volume * 8 * count, rel=0.02)


def fsdp_and_refusals():
    """On a rank: the weights of torch's own; what a second backward before `step` is told."""
    rank, net, said = find_place().rank, make("plain"), []
    torchs_own.sharded(net, init_device_mesh("cpu", (RANKS,)))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss_of(net, rank, step).backward()
        optimizer.step()
    weights = {name: p.full_tensor() for name, p in net.named_parameters()}
    for trainer in (Zero2, Zero3):
        net = make("plain")
        trainer(units_of(net), lambda parts: torch.optim.SGD(parts, lr=0.1), Recorder(rank))
        loss_of(net, 0, 0).backward()
        with pytest.raises(RuntimeError) as error:
            loss_of(net, 0, 1).backward()
        said.append(str(error.value))
    return weights, said


def test_torchs_own_has_the_same_weights_and_a_second_backward_before_the_step_is_refused():
    found = launch(fsdp_and_refusals, RANKS, quiet=True, checked=False, timeout=400)
    for (theirs, said), ours in zip(found, answers("plain", "adam")[0], strict=True):
        for name, weight in theirs.items():
            assert (weight - ours[3][0][name]).abs().max() < TOLERANCE, name
        assert all("call step() after each backward" in each for each in said)


def small_peaks():
    peak.model.__defaults__ = (96, 5)
    return [max(max(v) for v in peak.watched(stage).values()) for stage in range(4)], peak.sizes()


@pytest.mark.slow
def test_the_peak_is_what_is_kept_and_the_largest_unit():
    for found, (weights, unit) in launch(small_peaks, 2, quiet=True):
        for stage, most in enumerate(found):
            cut = [2 if stage >= first else 1 for first in (3, 2, 1)]
            keeps = weights / cut[0] + weights / cut[1] + 2 * weights / cut[2]
            assert most == pytest.approx(keeps + stage * unit, rel=0.1), stage


def test_watch_forgets_what_is_freed():
    x = torch.zeros(1000)
    with memory.Watch([x]) as watch:
        y = x + 1
        del y
        x.sum()
    assert (watch.held[""][0], watch.held[""][-1]) == (8000, 4004)


@pytest.mark.slow
def test_hybrid_shards_are_one_device_and_send_two_volumes():
    flat, nested = (
        launch(torchs_own.hybrid_step, 4, (shape,), quiet=True, checked=False)
        for shape in ((4,), (2, 2))
    )
    assert max(far for far, *_ in (*flat, *nested)) < 1e-12
    assert flat[0][1] == {(0, 1, 2, 3): pytest.approx(9 / 4, rel=0.05)}
    across = pytest.approx(1 / 2, rel=0.02)
    assert nested[0][1] == {(0, 1): pytest.approx(3 / 2, rel=0.05), (0, 2): across}
    assert nested[3][1] == {(2, 3): pytest.approx(3 / 2, rel=0.05), (1, 3): across}
