"""Any layout loads what another one saved, and a killed script goes on; all ranks say one error."""

import functools
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from helpers.checkpoint import CheckpointError, Training, load, save, steps
from helpers.clone import ROOT
from helpers.grid import Grid, make_groups
from helpers.parallel import LLAMA, cut
from helpers.ranks import launch
from simplellm.slicing import slice_stage, whole_name
from tests.said import said
from tests.scripts import on_rank
from tests.simplellm.small import small

pytestmark = pytest.mark.ranks

with suppress(ImportError):  # Windows has no such limits
    import resource


make_whole = functools.partial(small, n_layers=4, dmodel=8, num_heads=2)


def training_of(stage, tp=None):
    """With Adam's state, which a gradient of the weights' own size has made."""
    optimizer = torch.optim.AdamW(stage.parameters(), lr=1e-2, betas=(0.8, 0.99))
    for p in stage.parameters():
        p.grad = p.detach().clone()
    optimizer.step()
    first = getattr(stage, "first_layer", 0)
    return Training(stage, optimizer, lambda name: whole_name(name, first), tp and LLAMA, tp)


def walk(root):
    """On every rank: each layout begins where the one before has stopped."""
    from torch.distributed.fsdp import fully_shard

    parts = []
    for grid in (Grid(2, 2), Grid(pp=2, tp=2), Grid(4, 1)):
        here, groups = grid.coordinates(dist.get_rank()), make_groups(grid)
        stage = slice_stage(make_whole(seed=1), here.pp, grid.pp)
        tp = groups.tp if grid.tp > 1 else None
        parts.append(training_of(cut(stage, LLAMA, tp) if tp else stage, tp))
    sharded = make_whole(seed=1)
    fully_shard(sharded)
    for number, training in enumerate([*parts, training_of(sharded)]):
        done = load(f"{root}/{number}", training)
        save(f"{root}/{number + 1}", training, done.step + 1, (done.position, "on"))
    return done.step


def test_one_device_to_every_layout_and_back(tmp_path):
    begin = training_of(make_whole())
    save(tmp_path / "0", begin, 2, "stories")
    assert launch(walk, 4, (str(tmp_path),), quiet=True, timeout=250) == [5] * 4
    end = training_of(make_whole(seed=2))
    done = load(tmp_path / "4", end)
    assert (done.step, done.position) == (6, (((("stories", "on"), "on"), "on"), "on"))
    for a, b in zip(begin.model.parameters(), end.model.parameters(), strict=True):
        assert torch.equal(a, b)
        for key, value in begin.optimizer.state[a].items():
            assert torch.equal(value, end.optimizer.state[b][key])
    parts = sorted((tmp_path / "1/step-00000003").glob("*.distcp"))
    assert [part.name for part in parts] == [f"__{rank}_0.distcp" for rank in range(4)]
    content = 3 * 4 * sum(p.numel() for p in begin.model.parameters())  # nothing is written twice
    assert content < sum(part.stat().st_size for part in parts) < 2 * content + 400_000


def together(root):
    """On two ranks: each mistake, and what this rank was told."""
    rank, told, folder = dist.get_rank(), {}, f"{root}/together"
    model = make_whole()
    training = training_of(model)
    save(folder, training, 1)

    def tell(name, work, *args):
        told[name] = said(work, *args, error=CheckpointError)

    tell("steps", save, folder, training, 2 + rank)
    tell("names", save, folder, Training(slice_stage(model, rank, 2)), 2)
    tell("plan", save, folder, [training, Training(model, plan={"*": "diagonal"})][rank], 2)
    if rank == 1:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))
    tell("full", save, folder, training, 2)
    if rank == 1:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    dist.barrier()
    home = Path.cwd()
    Path(f"{root}/{rank}").mkdir()
    os.chdir(f"{root}/{rank}")  # as on two machines that share no disk
    tell("apart", save, "folder", training, 1)
    os.chdir(home)
    told["left"] = sorted(path.name for path in Path(folder).iterdir())
    tell("alone", load, [folder, f"{root}/none"][rank], training)  # rank 0 chooses for all
    return told


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="a limit of POSIX makes the disk full")
def test_all_ranks_are_told_the_same(tmp_path):
    first, second = launch(together, 2, (str(tmp_path),), quiet=True, timeout=60)
    assert first == second and "rank 1: " in first["alone"] and "missing" in first["alone"]
    assert "ranks 0 and 1 hold different values of its facts" in first["steps"]
    assert "ranks 0 and 1 hold different values of model/layers.0." in first["names"]
    assert first["plan"].startswith("rank 1: the plan cuts 'model.embed_tokens' by 'diag")
    assert "rank 1: " in first["full"] and "is the disk full" in first["full"]
    assert "does not hold what the ranks have written: choose a folder that all" in first["apart"]
    assert first["left"] == ["step-00000001"] and steps(tmp_path / "together") == [1]


# Lesson 21 kills it, and starts it again on other layouts.
SCRIPT = "DP_PP/survival/intro_survival.py"
FLAGS = ["--dmodel", "12", "--heads", "2", "--layers", "2", "--seq-l", "16", "--every", "2"]
FLAGS += ["--micro-batches", "1", "--stages", "2", "--steps", "8", "--checkpoints"]


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="a rank is killed by SIGKILL")
def test_killed_under_torchrun_it_goes_on_as_if_nothing_had_happened(tmp_path):
    call = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    call += ["--max-restarts", "1", "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"]
    call += ["--local-addr", "127.0.0.1", str(ROOT / SCRIPT), *FLAGS, str(tmp_path / "broken")]
    call += ["--die-at", "5", "--plain"]
    ended = subprocess.run(call, capture_output=True, text=True, timeout=400)
    assert ended.returncode == 0 and "goes on after step 3" in ended.stdout, ended.stderr
    printed = re.findall(r"^(\d+) ([\d.]+)$", ended.stdout, re.M)
    numbers = [int(step) for step, _ in printed]
    assert numbers[-4:] == [4, 5, 6, 7] and numbers[:4] == [0, 1, 2, 3]  # step 5 may be lost
    flags = [*FLAGS, str(tmp_path / "whole")]
    _, (right, *_) = launch(on_rank, 2, (SCRIPT, flags), quiet=True, timeout=200)
    for step, loss in printed:  # float32, losses of about 8
        assert float(loss) == pytest.approx(right[int(step)], abs=1e-5)
