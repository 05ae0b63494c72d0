"""ZeRO by hand: one device's weights, FSDP2's weights, and the memory that the formulas say."""

import functools

import memory
import pytest
import torch
from intro_ZeRO import Zero0, units_of
from torch import nn
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
KINDS = ("plain", "tied", "a weight that is not used")
OPTIMIZERS = {"sgd": (torch.optim.SGD, 0.5), "adam": (torch.optim.Adam, 1e-2)}
RUNS = [(kind, name) for kind in KINDS for name in OPTIMIZERS if (kind, name) != (KINDS[2], "adam")]


def make(kind):
    torch.manual_seed(0)
    sizes = {"dmodel": 12, "num_heads": 2, "n_layers": 2, "ctx_size": 8, "padding_idx": 0}
    net = LLama(CausalLLama, 50, **sizes, device="cpu").double()
    if kind == "tied":
        net.tie()
    if kind == "a weight that is not used":
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


def fsdp():
    """On a rank: the same with torch's own FSDP2."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    rank, net = find_place().rank, make("plain")
    mesh = init_device_mesh("cpu", (RANKS,))
    for block in net.model.layers:
        fully_shard(block, mesh=mesh)
    fully_shard(net, mesh=mesh)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss_of(net, rank, step).backward()
        optimizer.step()
    return {name: p.full_tensor() for name, p in net.named_parameters()}


@functools.cache
def answers(kind, name):
    return launch(zero, RANKS, (kind, name), quiet=True, timeout=400)


def one_device(kind, name):
    net = make(kind)
    optimizer, lr = OPTIMIZERS[name]
    trainer = optimizer(net.parameters(), lr=lr)
    for step in range(STEPS):
        trainer.zero_grad()
        (sum(loss_of(net, rank, step) for rank in range(RANKS)) / RANKS).backward()
        trainer.step()
    return {n: p.detach() for n, p in net.named_parameters()}


@pytest.mark.slow_for("a weight that", "tied-sgd")
@pytest.mark.parametrize("stage", [0, 1, 2, 3])
@pytest.mark.parametrize(("kind", "name"), RUNS)
def test_each_stage_is_one_device(stage, kind, name):
    expected = one_device(kind, name)
    for rank in answers(kind, name):
        weights = rank[stage][0]
        assert weights.keys() == expected.keys()
        for key, weight in weights.items():
            assert (weight - expected[key]).abs().max() < TOLERANCE, key


@pytest.mark.parametrize("stage", [0, 1, 2, 3])
@pytest.mark.parametrize("kind", ["plain", "tied"])
def test_a_rank_keeps_what_the_formula_says(stage, kind):
    count = sum(p.numel() for p in make(kind).parameters())
    expected = memory.expected(count, stage, RANKS, bytes_each=8)
    for rank in answers(kind, "adam"):
        kept = rank[stage][1]
        for name, size in expected.items():
            padding = 2 * 8 * RANKS * 5  # five units, each padded by less than a number a rank
            assert size <= kept[name] + 1 and kept[name] <= size + padding, (name, kept, size)


@pytest.mark.parametrize("stage, volume", [(0, 1), (1, 2), (2, 2), (3, 3)])
def test_what_travels_is_the_papers_volume(stage, volume):
    """In units of the model's bytes a step: 2 for stages 1 and 2, 3 for stage 3."""
    count = sum(p.numel() for p in make("plain").parameters())
    sent = sum(size for _, size in answers("plain", "sgd")[0][stage][2]) / STEPS
    assert sent == pytest.approx(volume * 8 * count, rel=0.02)


@pytest.mark.slow
def test_torchs_own_gives_the_same_weights():
    for rank, theirs in enumerate(launch(fsdp, RANKS, quiet=True, checked=False, timeout=400)):
        ours = answers("plain", "adam")[rank][3][0]
        for name, weight in theirs.items():
            assert (weight - ours[name]).abs().max() < TOLERANCE, name


def two_backwards():
    """On a rank: what a second backward before `step` is told, in stages 2 and 3."""
    said = []
    for stage in (2, 3):
        net, recorder = make("plain"), Recorder(find_place().rank)
        units = units_of(net)
        TRAINERS[stage](units, lambda parts: torch.optim.SGD(parts, lr=0.1), recorder)
        loss_of(net, 0, 0).backward()
        try:
            loss_of(net, 0, 1).backward()
        except RuntimeError as error:
            said.append(str(error))
    return said


def test_a_second_backward_before_the_step_is_refused():
    for said in launch(two_backwards, 2, quiet=True):
        assert len(said) == 2 and all("call step() after each backward" in each for each in said)
