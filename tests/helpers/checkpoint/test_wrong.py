"""Wrong input: one sentence, the same on all ranks, and nothing has changed."""

import errno
import signal
from contextlib import suppress
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn

from helpers.checkpoint import (
    CheckpointError,
    NoCheckpoint,
    Training,
    latest,
    load,
    loading,
    save,
    steps,
)
from helpers.ranks import launch
from simplellm.slicing import slice_stage

from .layouts import make_whole

pytestmark = pytest.mark.ranks

with suppress(ImportError):  # Windows has no such limits
    import resource


def sgd(model, **settings):
    return torch.optim.SGD(model.parameters(), lr=0.1, **settings)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    model = make_whole(layers=2)
    save(folder, Training(model, sgd(model)), 3)
    return folder


def said(error, work, *args, **kwargs):
    with pytest.raises(error) as caught:
        work(*args, **kwargs)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_no_checkpoint_there(tmp_path):
    words = said(NoCheckpoint, load, tmp_path, Training(nn.Linear(2, 2)))
    assert f"there is no checkpoint in {tmp_path}: save" in words


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ({"layers": 3}, "it has no model.layers.2.self_attn.q_proj.weight, (8, 8) here"),
        ({"layers": 1}, "its model.layers.1.self_attn.q_proj.weight, (8, 8), is held by no rank"),
        (
            {"layers": 2, "width": 12},
            "model.embed_tokens.weight is (24, 8) in it and (24, 12) here",
        ),
    ],
)
def test_another_model(sizes, says, saved):
    model = make_whole(**sizes)
    before = [p.clone() for p in model.parameters()]
    words = said(CheckpointError, load, saved, Training(model))
    assert "is the checkpoint of another model: " in words and says in words
    for old, new in zip(before, model.parameters(), strict=True):
        assert torch.equal(old, new)


def test_another_optimizer_or_none(saved, tmp_path):
    model = make_whole(layers=2)
    adam = Training(model, torch.optim.Adam(model.parameters()))
    words = said(CheckpointError, load, saved, adam)
    assert "saved with the optimizer SGD and this one is Adam" in words
    save(tmp_path, Training(model), 1)
    assert "weights alone and no optimizer" in said(CheckpointError, load, tmp_path, adam)
    other = Training(nn.Linear(2, 2), sgd(model))
    assert "that is not in the model" in said(CheckpointError, save, tmp_path, other, 2)


def test_a_folder_that_cannot_be_used(tmp_path, saved, monkeypatch):
    model = Training(nn.Linear(2, 2))
    file = tmp_path / "file"
    file.write_text("")
    for folder in (file, file / "below"):
        words = said(CheckpointError, save, folder, model, 1)
        assert f"{folder} is a file, or lies below one: choose a folder" in words

    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    words = said(CheckpointError, save, tmp_path / "new", model, 1)
    assert "may not be used (Permission denied): choose a folder that is yours" in words


def test_the_folder_of_another_run(saved):
    for step in (2, 3):
        words = said(CheckpointError, save, saved, Training(nn.Linear(2, 2)), step)
        assert f"holds the checkpoint of step 3 already, so step {step} belongs to" in words
    assert steps(saved) == [3]


def test_numbers_that_make_no_sense(tmp_path):
    model = Training(nn.Linear(2, 2))
    assert "step must be a whole number" in said(CheckpointError, save, tmp_path, model, -1)
    assert "keep must be a whole number" in said(CheckpointError, save, tmp_path, model, 1, keep=0)
    assert latest(tmp_path) is None


def test_two_tensors_of_one_name(tmp_path):
    two = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    alike = Training(two, name=lambda name: name.partition(".")[2])
    words = said(CheckpointError, save, tmp_path, alike, 1)
    assert "two tensors of this rank have the name weight" in words


def together(root):
    """On two ranks: each mistake, and what this rank was told."""
    rank, told = dist.get_rank(), {}
    folder = f"{root}/together"
    model = make_whole(layers=2)
    training = Training(model, sgd(model))
    save(folder, training, 1)

    def tell(name, work, *args, **kwargs):
        try:
            work(*args, **kwargs)
        except CheckpointError as error:
            told[name] = str(error)

    # An optimizer that keeps another shape than the parameter's, with layers that are cut.
    cut = nn.ModuleDict({"q_proj": nn.Linear(2, 2, bias=False)})
    rows = sgd(cut)
    rows.state[cut["q_proj"].weight]["rows"] = torch.ones(2)
    tell("state", save, f"{root}/cut", Training(cut, rows, plan={"q_proj": "column"}), 1)
    tell("steps", save, folder, training, 2 + rank)
    tell("optimizers", save, folder, [training, Training(model)][rank], 2)
    stage = slice_stage(model, rank, 2)
    tell("names", save, folder, Training(stage), 2)
    with torch.no_grad():
        model.lm_head.weight += rank
    tell("replicas", save, folder, training, 2)
    tell("plan", save, folder, [training, Training(model, plan={"*": "diagonal"})][rank], 2)

    with torch.no_grad():
        model.lm_head.weight -= rank
    if rank == 1:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))
    tell("full", save, folder, training, 2)
    if rank == 1:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    dist.barrier()
    told["left"] = sorted(path.name for path in Path(folder).glob("[!.]*"))
    save(folder, training, 2, position=float("nan"))  # which is not equal to itself

    dist.barrier()
    part = Path(folder, "step-00000002", "__1_0.distcp")
    if rank == 0:
        part.rename(f"{root}/elsewhere")
    dist.barrier()
    tell("missing", load, folder, training, 2)
    if rank == 0:
        Path(f"{root}/elsewhere").rename(part)
    dist.barrier()
    facts_of_whole = loading.facts_of_whole
    if rank == 1:
        loading.facts_of_whole = lambda path: facts_of_whole(path) | {"sum": "another"}
    tell("elsewhere", load, folder, training)
    loading.facts_of_whole = facts_of_whole
    told["loaded"] = load(folder, training).step
    return told


@pytest.mark.skipif(
    not hasattr(signal, "SIGXFSZ"), reason="a disk is made full by a limit of POSIX"
)
def test_all_ranks_are_told_the_same(tmp_path):
    first, second = launch(together, 2, (str(tmp_path),), quiet=True, timeout=60)
    assert first == second
    assert "so this optimizer cannot be saved with a plan" in first["state"]
    assert "rank 0 saves step 2 and rank 1 3" in first["steps"]
    assert "rank 0 saves optimizer SGD and rank 1 None" in first["optimizers"]
    for name, tensor in (("names", "layers.0."), ("replicas", "lm_head.weight")):
        assert f"ranks 0 and 1 hold different values of {tensor}" in first[name]
        assert "give Training(name=...)" in first[name]
    assert first["plan"].startswith("rank 1: the plan cuts 'model.embed_tokens' by 'diag")
    assert first["full"].startswith("rank 1: ") and "the disk is full; free some" in first["full"]
    assert first["left"] == ["step-00000001"]
    assert "__1_0.distcp, what rank 1 wrote, is missing" in first["missing"]
    assert "the ranks see different checkpoints at" in first["elsewhere"]
    assert first["loaded"] == 2
