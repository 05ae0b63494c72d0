"""Saved on one layout, loaded into another: the next losses are those of a run without a break.

All layouts see the same global batch. In float64 they differ only by the order of additions.
"""

import functools
import itertools
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from helpers.checkpoint import Training, load, save, steps
from helpers.grid import Grid
from helpers.ranks import launch

from .layouts import ONE, Trainer, batch_of, causal_loss, make_whole, optimizer_for

pytestmark = pytest.mark.ranks

TOLERANCE = 1e-12  # on losses of about 3
# From one device through these; two steps on each, and two on one device after the last.
CHAIN = (Grid(2, 2), Grid(pp=2, tp=2))
PLAIN, TIED = ("sgd", False), ("adam", True)
CASES = [(grid, kind, number) for kind in (PLAIN, TIED) for number, grid in enumerate(CHAIN, 1)]


def folder_of(root, kind, grid):
    return f"{root}/{kind[0]}-{'x'.join(map(str, grid.shape))}"


def walk(root, kind):
    """On every rank: each layout begins where the one before has stopped; the losses of each."""
    losses = {}
    for before, grid in itertools.pairwise((ONE, *CHAIN)):
        trainer = Trainer(grid, *kind)
        done = load(folder_of(root, kind, before), trainer.training)
        losses[grid] = trainer.steps(done.step, done.step + 2)
        step = done.step + 2
        save(folder_of(root, kind, grid), trainer.training, step, [step, "stories"])
    return losses


def shard(root):
    """On every rank: the loss on torch's own shards, and uneven ones."""
    return shard_evenly(root), save_uneven(f"{root}/uneven")


def shard_evenly(root):
    """From one device to torch's FSDP2, whose tensors are cut over the ranks along their rows."""
    from torch.distributed.fsdp import fully_shard

    model = make_whole()
    fully_shard(model)
    optimizer = optimizer_for("sgd", model)
    training = Training(model, optimizer)
    step = load(folder_of(root, PLAIN, ONE), training).step
    optimizer.zero_grad()
    loss = causal_loss(model, batch_of(step).chunk(4)[dist.get_rank()])
    loss.backward()
    optimizer.step()
    save(f"{root}/fsdp", training, step + 1)
    dist.all_reduce(loss)
    return loss.item() / 4


def make_uneven():
    """Rows that four ranks cannot share alike (some get none), half precision, a frozen tensor."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Linear(1, 3)).bfloat16()
    model[1].bias.requires_grad_(False)
    return model


def save_uneven(folder):
    from torch.distributed.fsdp import fully_shard

    model = make_uneven()
    fully_shard(model)
    optimizer = optimizer_for("adam", model)
    model(torch.ones(2, 4).bfloat16()).square().sum().backward()
    optimizer.step()
    save(folder, Training(model, optimizer), 1)
    return {name: p.full_tensor().detach() for name, p in model.named_parameters()}


@functools.cache
def without_a_break(kind):
    return Trainer(ONE, *kind).steps(0, 8)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Where one device has saved after two steps of each kind."""
    root = tmp_path_factory.mktemp("checkpoints")
    for kind in (PLAIN, TIED):
        trainer = Trainer(ONE, *kind)
        trainer.steps(0, 2)
        save(folder_of(root, kind, ONE), trainer.training, 2, [2, "stories"])
    return root


@pytest.fixture(scope="module")
def ranks(root):
    """What each rank gave, as a function of the kind: make test asks for one."""
    return functools.cache(lambda kind: launch(walk, 4, (str(root), kind), quiet=True, timeout=250))


@pytest.fixture(scope="module")
def sharded(root):
    """The same of torch's own shards; to import them takes long."""
    return launch(shard, 4, (str(root),), quiet=True, timeout=250)


@pytest.mark.slow
@pytest.mark.parametrize(("grid", "kind", "number"), CASES)
def test_another_layout_goes_on_with_the_same_losses(grid, kind, number, ranks):
    found = [rank[grid] for rank in ranks(kind) if rank[grid]]
    assert len(found) == grid.dp * grid.tp  # on the ranks of the last stage
    for losses in found:
        right = without_a_break(kind)[2 * number : 2 * number + 2]
        assert losses == pytest.approx(right, abs=TOLERANCE)


@pytest.mark.slow_for("grid2", "grid3")
@pytest.mark.parametrize(("grid", "kind", "number"), CASES)
def test_one_device_goes_on_from_every_layout(grid, kind, number, ranks, root):
    ranks(kind)
    trainer = Trainer(ONE, *kind)
    done = load(folder_of(root, kind, grid), trainer.training)
    assert (done.step, done.position) == (2 * number + 2, [2 * number + 2, "stories"])
    losses = trainer.steps(done.step, done.step + 2)
    right = without_a_break(kind)[done.step : done.step + 2]
    assert losses == pytest.approx(right, abs=TOLERANCE)


@pytest.mark.slow_for("kind1")
@pytest.mark.parametrize("kind", [PLAIN, TIED])
def test_a_fresh_optimizer_would_be_seen(kind, root, ranks):
    """So that the tests above say something of the momenta."""
    ranks(kind)
    trainer = Trainer(ONE, *kind)
    load(folder_of(root, kind, CHAIN[0]), Training(trainer.stage))
    losses = trainer.steps(4, 6)
    assert losses[0] == pytest.approx(without_a_break(kind)[4], abs=TOLERANCE)
    assert abs(losses[1] - without_a_break(kind)[5]) > 1e-4


@pytest.mark.slow
def test_fully_sharded_goes_on_and_one_device_after_it(root, sharded):
    right = without_a_break(PLAIN)
    for loss, _ in sharded:
        assert loss == pytest.approx(right[2], abs=TOLERANCE)
    trainer = Trainer(ONE, *PLAIN)
    assert load(root / "fsdp", trainer.training).step == 3
    assert trainer.steps(3, 5) == pytest.approx(right[3:5], abs=TOLERANCE)


@pytest.mark.slow
def test_shards_that_are_not_alike(root, sharded):
    model = make_uneven()
    optimizer = optimizer_for("adam", model)
    load(root / "uneven", Training(model, optimizer))
    for name, p in model.named_parameters():
        assert torch.equal(p, sharded[0][1][name])
        assert set(optimizer.state[p]) == (
            {"step", "exp_avg", "exp_avg_sq"} if p.requires_grad else set()
        )


def test_every_rank_writes_and_nothing_is_written_twice(root, ranks):
    ranks(PLAIN)
    folder = folder_of(root, PLAIN, CHAIN[0])
    assert steps(folder) == [4]
    (path,) = Path(folder).glob("step-*")
    parts = sorted(path.glob("*.distcp"))
    assert [part.name for part in parts] == [f"__{rank}_0.distcp" for rank in range(4)]
    parameters = list(make_whole().parameters())
    # Weights and momenta once, 8 bytes each, and what torch.save adds to each tensor.
    content = 2 * 8 * sum(p.numel() for p in parameters) + 4 * torch.get_rng_state().numel()
    written = sum(part.stat().st_size for part in parts)
    assert content < written < content + 2000 * (2 * len(parameters) + 4)
