"""The trainer in torch's words is one device, and every name in docs/torch.md exists."""

import copy
import pkgutil
import re

import pytest
import torch
import torch.distributed.checkpoint as dcp
import torchs_words as script
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

from helpers.check.task import ROOT
from helpers.grid import Grid
from helpers.oracle import Step, gather, judge, one_step, snapshot
from helpers.pipeline import Pipeline
from helpers.ranks import find_place, launch
from helpers.schedules import one_f_one_b
from simplellm.losses import causalLLMLoss
from simplellm.options import make_stories, prepare
from simplellm.slicing import whole_name

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

FLAGS = "--dmodel 32 --heads 4 --layers 4 --seq-l 16 --steps 1 --optimizer sgd --lr 0.5".split()
GRID = Grid(dp=2, pp=2, tp=2)
PLANS = ("1F1B", "zero-bubble")


@pytest.fixture
def doubles():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


# --- one device, tensor by tensor -----------------------------------------------------------------


def step_on_a_rank(folder):
    torch.set_default_dtype(torch.float64)
    steps = []
    mesh = script.make_mesh(script.read_flags(["--tp", "2"]), 8)
    groups = {name: tuple(mesh[name].mesh.tolist()) for name in script.MESH}
    for plan in PLANS:
        flags = [*FLAGS, "--tp", "2", "--schedule", plan, "--clip", "1e-3", "--save", folder]
        options = script.read_flags(flags)
        _, stage, _ = script.train(options, find_place(), "cpu", lambda *_: None)
        found = snapshot(stage)
        steps.append(
            Step({}, *(whole_names(part, stage) for part in (found.gradients, found.before)))
        )
    return groups, steps


def whole_names(tensors, stage):
    return {whole_name(name, stage.first_layer): tensor for name, tensor in tensors.items()}


def test_eight_ranks_are_one_device(tmp_path, doubles):
    """Gradients, clipped by the norm over all stages; weights; and what is saved of them."""
    folder = str(tmp_path / "saved")
    found = launch(step_on_a_rank, 8, (folder,), quiet=True, checked=False)
    for rank, (groups, _) in enumerate(found):
        assert groups == {name: GRID.group(rank, name) for name in script.MESH}
    options = script.read_flags(FLAGS)
    tokenizer, model = prepare(options, "cpu")
    ids = [next(iter(make_stories(options, tokenizer, d, 2, quiet=True))) for d in range(2)]

    def loss_of(net, batch):
        return causalLLMLoss(net(batch), batch, tokenizer.vocab_size)

    batches = torch.cat(ids).split(1)
    right = one_step(model, loss_of, batches, lambda ps: torch.optim.SGD(ps, lr=options.lr))
    norm = sum(g.norm() ** 2 for g in right.gradients.values()).sqrt()
    clipped = {name: g * 1e-3 / (norm + 1e-6) for name, g in right.gradients.items()}
    after = {name: right.before[name] - 0.5 * g for name, g in clipped.items()}
    right = Step(right.before, clipped, after, ties=right.ties)
    for number in range(len(PLANS)):
        verdict = judge(right, gather([steps[number] for _, steps in found], right.before))
        assert verdict.ok, str(verdict)
        assert len(verdict.rows) == 2 * len(right.before)
    read = {name: torch.empty_like(weight) for name, weight in after.items()}
    dcp.load(read, checkpoint_id=folder, no_dist=True)
    torch.testing.assert_close(read, after)


# --- where the pieces don't fit together, beside lesson 22 ----------------------------------------


def known_alone(y, target):
    """The mean square over the numbers of a target that count."""
    return (y - target)[target.isfinite()].square().mean()


def unequal_micro_batches():
    """On a rank of two: whether torch's pipeline has the gradients that the trainer of ours has."""
    rank, x = find_place().rank, torch.ones(8, 8).double().cumsum(0)
    torch.manual_seed(rank)
    theirs = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8)).double()
    ours, uneven = copy.deepcopy(theirs), x.clone()
    uneven[0] = torch.nan
    part = PipelineStage(theirs, rank, 2, torch.device("cpu"))
    given = {"target": uneven} if part.is_last else {}
    Schedule1F1B(part, 4, loss_fn=known_alone).step(*[x] * part.is_first, **given)
    how = {"loss": known_alone, "tokens": lambda target: int(target.isfinite().sum())}
    Pipeline(one_f_one_b(2, 4), {rank: ours}, **how).step(x, uneven)
    return torch.allclose(theirs[0].weight.grad, ours[0].weight.grad)


def test_torchs_pipeline_does_not_ask_how_many_tokens_a_micro_batch_has():
    assert launch(unequal_micro_batches, 2, quiet=True, checked=False) == [False, False]


def test_every_name_of_the_dictionary_exists():
    page = (ROOT / "docs" / "torch.md").read_text(encoding="utf-8").split("\n## ")[0]
    for line in [line for line in page.splitlines() if line.startswith("| ")][1:]:
        cells = line.strip("|").split("|")
        assert len(cells) == 7
        for name in re.findall(r"`([^`]+)`", cells[2] + cells[3]):
            if "/" in name:
                assert (ROOT / name).is_file(), name
            elif "." in name:
                pkgutil.resolve_name(name)  # raises if there is none
