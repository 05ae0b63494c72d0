"""Torch's words: the trainer is one device, the dictionary and the list are still true."""

import pkgutil
import re

import pytest
import torch
import torch.distributed as dist
import torchs_words as script
from torch import nn

from helpers.check.task import ROOT
from helpers.grid import Grid
from helpers.oracle import Step, gather, judge, one_step, snapshot
from helpers.pipeline import Pipeline
from helpers.ranks import find_place, launch
from helpers.schedules import load_csv, one_f_one_b, save_csv, zb_h1, zb_h2
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
            Step({}, *(whole_names(part, stage) for part in (found.gradients, found.weights)))
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
    import torch.distributed.checkpoint as dcp

    read = {name: torch.empty_like(weight) for name, weight in after.items()}
    dcp.load(read, checkpoint_id=folder, no_dist=True)
    torch.testing.assert_close(read, after)


# --- where the pieces don't fit together ----------------------------------------------------------


def small_stage(rank):
    torch.manual_seed(rank)
    return nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8)).double()


def known(target):
    """How many numbers of a target count."""
    return int(target.isfinite().sum())


def known_alone(y, target):
    """The mean square over the numbers that count."""
    return (y - target)[target.isfinite()].square().mean()


def run(schedule, part, x, target=None):
    target = {"target": x if target is None else target} if part.is_last else {}
    schedule.step(*[x] if part.is_first else [], **target)


def disagreements(csv_files):
    """All that two stages of two replicas can show, on one launch of four ranks."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B
    from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

    seen, loss, x = {}, nn.functional.mse_loss, torch.ones(8, 8).double().cumsum(0)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "pp"))
    pp = mesh.get_local_rank("pp")

    def stage_and_part(shard=None):
        stage = small_stage(pp)
        if shard is not None:
            for module in (stage[0], stage):  # what a forward frees is all but the outermost
                fully_shard(module, mesh=mesh["dp"], **shard)
        return stage, PipelineStage(stage, pp, 2, torch.device("cpu"), group=mesh["pp"].get_group())

    for name, shard in (("freed", {}), ("kept", {"reshard_after_forward": False})):
        stage, part = stage_and_part(shard)
        run(script.SCHEDULES["zero-bubble"](part, 4, loss_fn=loss), part, x)
        seen[f"gradients, {name}"] = sum(p.grad is not None for p in stage.parameters())
    stage, part = stage_and_part()
    schedule = Schedule1F1B(part, 4, loss_fn=loss)
    run(schedule, part, x)
    first = stage[0].weight.grad.clone()
    run(schedule, part, x)
    seen["twice"] = (stage[0].weight.grad / first).nanmean().item()
    seen["own norm"] = nn.utils.clip_grad_norm_(stage.parameters(), 1e9).item()
    seen["norm"] = script.clip(stage, 1e9, mesh["pp"]).item()

    uneven = x.clone()
    uneven[0] = torch.nan
    (stage, part), (ours, _) = stage_and_part(), stage_and_part()
    run(Schedule1F1B(part, 4, loss_fn=known_alone), part, x, uneven)
    pipeline = Pipeline(
        one_f_one_b(2, 4), {pp: ours}, mesh["pp"].get_group(), known_alone, tokens=known
    )
    pipeline.step(x, uneven)
    seen["weighted"] = torch.allclose(stage[0].weight.grad, ours[0].weight.grad)

    seen["same bits"] = []
    rank = dist.get_rank()
    for path in csv_files:  # over all four ranks, as one pipeline
        mine, theirs = small_stage(rank), small_stage(rank)
        part = PipelineStage(theirs, rank, 4, torch.device("cpu"))
        runtime = _PipelineScheduleRuntime([part], 8, loss_fn=loss)
        runtime._load_csv(path, format="compute_only")
        run(runtime, part, x)
        Pipeline(load_csv(path), {rank: mine}, loss=loss).step(x, x)
        pairs = zip(mine.parameters(), theirs.parameters(), strict=True)
        seen["same bits"].append(all(torch.equal(a.grad, b.grad) for a, b in pairs))
    return seen


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("torch")
    plans = (one_f_one_b(4, 8), zb_h1(4, 8), zb_h2(4, 8))
    files = [str(save_csv(plan, folder / f"{n}.csv")) for n, plan in enumerate(plans)]
    return launch(disagreements, 4, (files,), quiet=True, checked=False, timeout=200)


def test_our_plans_run_on_torchs_runtime_with_the_same_bits(seen):
    assert [rank["same bits"] for rank in seen] == [[True] * 3] * 4


def test_zero_bubble_loses_gradients_of_weights_that_fully_shard_frees(seen):
    assert [rank["gradients, freed"] for rank in seen] == [4, 2, 4, 2]
    assert [rank["gradients, kept"] for rank in seen] == [4] * 4


def test_a_stage_clips_by_its_own_norm(seen):
    own = [rank["own norm"] for rank in seen]
    total = (own[0] ** 2 + own[1] ** 2) ** 0.5
    assert own[0] != own[1]
    assert [rank["norm"] for rank in seen] == pytest.approx([total] * 4)


def test_two_steps_divide_twice(seen):
    assert [rank["twice"] for rank in seen] == pytest.approx([1.25] * 4)


def test_micro_batches_count_alike_however_many_tokens_they_have(seen):
    assert not any(rank["weighted"] for rank in seen)


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
