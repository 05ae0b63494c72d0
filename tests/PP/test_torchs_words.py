"""Torch's words: the trainer is one device, the dictionary and the list are still true."""

import functools
import importlib
import re
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torchs_words as script
from torch import nn

from helpers.grid import Grid
from helpers.oracle import Step, gather, judge, one_step, snapshot
from helpers.pipeline import Pipeline
from helpers.ranks import find_place, launch
from helpers.schedules import load_csv, one_f_one_b, save_csv, zb_h1, zb_h2
from simplellm.losses import causalLLMLoss
from simplellm.options import make_stories, prepare
from simplellm.slicing import whole_name

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["--dmodel", "32", "--heads", "4", "--layers", "4", "--seq-l", "16", "--steps", "1"]
FLAGS += ["--optimizer", "sgd", "--lr", "0.5"]
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


def disagreements(folder, csv_files):
    """All that two stages of two replicas can show, on one launch of four ranks."""
    import torch.distributed.checkpoint as dcp
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B
    from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime
    from torch.distributed.tensor import Shard, distribute_tensor
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

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
    seen["order"] = [str(action) for action in schedule.pipeline_order[1]]
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

    stage, part = stage_and_part({})
    dcp.save(stage.state_dict(), checkpoint_id=folder)
    read = small_stage(9)
    fully_shard(read, mesh=mesh["dp"])
    state = read.state_dict()
    dcp.load(state, checkpoint_id=folder)
    pairs = zip(state.values(), stage.state_dict().values(), strict=True)
    seen["all read back"] = all(torch.equal(a.full_tensor(), b.full_tensor()) for a, b in pairs)

    mixed = small_stage(0)
    parallelize_module(mixed, mesh["pp"], {"0": ColwiseParallel(output_layouts=Shard(-1))})
    for p in mixed[2].parameters():
        p.grad = distribute_tensor(torch.ones_like(p), mesh["dp"], [Shard(0)])
    for p in mixed[0].parameters():
        p.grad = torch.ones_like(p)
    try:
        nn.utils.clip_grad_norm_([p.grad for p in mixed.parameters()], 1.0)
        nn.utils.get_total_norm([p.grad for p in mixed.parameters()])
        seen["mixed"] = ""
    except RuntimeError as error:
        seen["mixed"] = str(error)

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
    return launch(
        disagreements, 4, (str(folder / "saved"), files), quiet=True, checked=False, timeout=200
    )


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


def test_norms_on_two_meshes_are_an_error(seen):
    assert all("must have the same mesh" in rank["mixed"] for rank in seen)


def test_two_steps_divide_twice(seen):
    assert [rank["twice"] for rank in seen] == pytest.approx([1.25] * 4)


def test_micro_batches_count_alike_however_many_tokens_they_have(seen):
    assert not any(rank["weighted"] for rank in seen)


def test_stages_with_the_same_names_overwrite_each_other(seen):
    assert not all(rank["all read back"] for rank in seen)


def test_the_last_rows_order_of_1f1b_is_off_by_one(seen):
    order = seen[1]["order"]
    assert order[0] == "1F1" and "1F4" in order and "1F0" not in order


def test_context_parallel_has_no_attention_on_the_cpu():
    def attend():
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor.experimental import context_parallel

        q = torch.ones(1, 2, 16, 8)
        with context_parallel(init_device_mesh("cpu", (2,)), buffers=[q], buffer_seq_dims=[2]):
            nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)

    report = launch(attend, 2, quiet=True, checked=False, on_error="report")
    assert "sharding strategy" in str(report.failure)


def test_an_unequal_batch_breaks_the_run_off():
    def step():
        from torch.distributed.pipelining import PipelineStage, Schedule1F1B

        rank = dist.get_rank()
        part = PipelineStage(small_stage(rank), rank, 2, torch.device("cpu"))
        run(Schedule1F1B(part, 4, loss_fn=nn.functional.mse_loss), part, torch.ones(6, 8).double())

    assert launch(step, 2, quiet=True, checked=False, on_error="report", timeout=60).failure


def test_a_rank_that_leaves_fully_shard_early_is_named():
    def train():
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        net = nn.Linear(4, 4)
        fully_shard(net, mesh=init_device_mesh("cpu", (2,)))
        for _ in range(3 - dist.get_rank()):
            net(torch.ones(2, 4)).sum().backward()

    report = launch(train, 2, quiet=True, on_error="report", timeout=60)
    assert report.failure.sentence.startswith("rank 1 left early"), report
    assert "all_gather" in report.failure.sentence, report


# --- the dictionary -------------------------------------------------------------------------------


@functools.cache
def dictionary():
    """The rows of the first table, as lists of cells."""
    page = (ROOT / "docs" / "torch.md").read_text(encoding="utf-8").split("\n## ")[0]
    lines = [line for line in page.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def found(name):
    """Whether a dotted name can be imported: a module, a class in it, or a part of that."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            if not hasattr(thing, part):
                return False
            thing = getattr(thing, part)
        return True
    return False


def test_each_name_of_torchtitan_stands_beside_the_commit_in_which_it_was_read():
    page = (ROOT / "docs" / "torch.md").read_text(encoding="utf-8")
    rows = page[page.index("| torchtitan, under") :].split("\n\n")[0].splitlines()
    read = ""
    for row in rows:
        _, _, files, names, _ = row.split("|")
        assert re.match(r" `[\w/.]+` at `[0-9a-f]{8}`", files), f"no commit: {row}"
        read += names
    for name in re.findall(r"`([\w.]+)`", " ".join(row[6] for row in dictionary())):
        assert name == "torchrun" or f"`{name}`" in read, f"{name} is in no file of torchtitan's"


@pytest.mark.parametrize("row", dictionary(), ids=lambda row: row[0])
def test_every_name_of_the_dictionary_exists(row):
    assert len(row) == 7
    for name in re.findall(r"`([^`]+)`", row[2] + row[3]):
        if "/" in name:
            assert (ROOT / name).is_file(), name
        elif "." in name:
            assert found(name), name
