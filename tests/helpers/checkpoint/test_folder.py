"""A save that ends at any moment leaves a whole checkpoint, and a damaged one is named."""

import functools
import os
import shutil
from unittest import mock

import pytest
import torch
from torch import nn

from helpers.checkpoint import CheckpointError, Training, latest, load, resume, save, saving, steps
from tests.said import said

told = functools.partial(said, error=CheckpointError)


def make(seed=0, optimizer=torch.optim.Adam):
    torch.manual_seed(seed)
    model = nn.Linear(3, 2)
    optimizer = optimizer([{"params": [p]} for p in model.parameters()], lr=0.1)
    model(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    return Training(model, optimizer)


def of_another_run(*args, **kwargs):
    """Save as a process would that has neither saved nor loaded here."""
    with mock.patch.object(saving, "LAST", {}):
        return save(*args, **kwargs)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_was_saved_comes_back_and_the_last_two_stay(tmp_path):
    folder, training, other = tmp_path / "not" / "there", make(), make(seed=1)
    assert (latest(folder), steps(folder), resume(folder, other).step) == (None, [], 0)
    other.optimizer.state.clear()  # as before its first step
    save(tmp_path / "fresh", other, 0)
    other = make(seed=1)
    assert load(tmp_path / "fresh", other).step == 0 and not other.optimizer.state
    training.optimizer.param_groups[1].update(lr=0.025, betas=(0.5, 0.75))
    for step in (1, 2, 5):
        path = save(folder, training, step, position={"story": 12 + step})
        assert path == folder / f"step-{step:08}" and latest(folder) == step
    assert steps(folder) == [2, 5] and names(folder) == ["step-00000002", "step-00000005"]
    assert names(path) == [".metadata", "SHA256SUMS", "__0_0.distcp"]
    assert load(folder, make(), step=2).step == 2
    assert resume(folder, other) == (5, {"story": 17}, path)
    assert [group["lr"] for group in other.optimizer.param_groups] == [0.1, 0.025]
    assert other.optimizer.param_groups[1]["betas"] == (0.5, 0.75)
    for mine, theirs in zip(training.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
        before, after = training.optimizer.state[mine], other.optimizer.state[theirs]
        assert before.keys() == after.keys() == {"step", "exp_avg", "exp_avg_sq"}
        assert all(torch.equal(before[key], after[key]) for key in before)


def test_tied_weights_are_there_under_each_of_their_names(tmp_path):
    model = nn.Sequential(nn.Embedding(3, 2), nn.Linear(2, 3, bias=False))
    model[1].weight = model[0].weight
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model(torch.arange(3)).square().sum().backward()
    optimizer.step()
    save(tmp_path, Training(model, optimizer), 1)
    two = nn.ModuleDict({"0": nn.Embedding(3, 2), "1": nn.Linear(2, 3, bias=False)})
    mine = torch.optim.SGD(two.parameters(), lr=0.1, momentum=0.9)
    load(tmp_path, Training(two, mine))
    (kept,) = optimizer.state.values()
    assert len(mine.state) == 2
    for found in mine.state.values():
        assert torch.equal(found["momentum_buffer"], kept["momentum_buffer"])


@pytest.mark.parametrize("name", ["__0_0.distcp", ".metadata", "SHA256SUMS"])
def test_a_turned_bit_or_a_missing_file_is_found(name, tmp_path):
    save(tmp_path, make(), 1)
    file = save(tmp_path, make(), 2) / name
    good = file.read_bytes()
    for bit in (*range(0, 8 * len(good), len(good) // 2 | 1), None):  # some 16, and no byte at all
        data = bytearray(good if bit is not None else b"")
        if data:
            data[bit // 8] ^= 1 << bit % 8
        file.write_bytes(data)
        assert "copy it again, or remove" in told(resume, tmp_path, make())
    file.unlink()
    assert f"{file} is missing" in told(resume, tmp_path, make())  # not in silence
    assert load(tmp_path, make(), step=1).step == 1  # and an earlier one can be read


def test_another_model_or_optimizer_or_no_sense(tmp_path):
    save(tmp_path / "one", make(), 3)
    more = nn.Linear(3, 2)
    more.more = nn.Linear(1, 1)
    for model, words in (
        (nn.Linear(4, 2), "Size mismatch"),
        (more, "Missing key in checkpoint state_dict: model/more"),
        (nn.Linear(3, 2, bias=False), "no rank here holds its model/bias"),
    ):
        before = [p.clone() for p in model.parameters()]
        assert words in told(load, tmp_path / "one", Training(model))
        assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    sgd = make(optimizer=torch.optim.SGD)
    assert "with the optimizer Adam and this one is SGD" in told(load, tmp_path / "one", sgd)
    assert "step-00000009/SHA256SUMS is missing" in told(load, tmp_path / "one", make(), 9)
    two = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    alike = Training(two, name=lambda name: name.partition(".")[2])
    assert "4 tensors of this rank have only 2 names" in told(save, tmp_path, alike, 1)
    (tmp_path / "file").write_text("")
    assert str(tmp_path / "file") in told(save, tmp_path / "file", make(), 1)
    (tmp_path / "step-00000007").write_text("mine")
    assert "step-00000007" in told(save, tmp_path, make(), 7)
    assert names(tmp_path) == ["file", "one", "step-00000007"]  # no draft is left


def test_two_runs_in_one_folder(tmp_path):
    save(tmp_path, make(), 3)
    for step, run in ((2, save), (3, save), (4, of_another_run)):
        assert "holds the checkpoint of step 3 already" in told(run, tmp_path, make(), step)
    write = saving.dcp.save

    def overtaken(*args, **kwargs):  # another one begins and ends while the first one writes
        patched.stop()
        write(*args, **kwargs)
        of_another_run(tmp_path / "new", make(), 5)

    patched = mock.patch.object(saving.dcp, "save", overtaken)
    patched.start()
    assert "does another run save to" in told(save, tmp_path / "new", make(), 7)
    assert names(tmp_path / "new") == ["step-00000005"]
    load(tmp_path / "new", make())
    save(tmp_path / "new", make(), 7)  # who loads it goes on from there


# Every call by which a save changes the disk.
CALLS = [(os, "fsync"), (os, "replace"), (os, "mkdir"), (os, "rename"), (shutil, "rmtree")]


def save_until(number, folder, step):
    """In a process of its own: save, and end in the `number`th of those calls, without a word."""
    pid = os.fork()
    if pid == 0:
        left = iter(range(number))

        def ending(call):
            return lambda *args, **how: os._exit(9) if next(left, -1) < 0 else call(*args, **how)

        for module, name in CALLS:
            setattr(module, name, ending(getattr(module, name)))
        try:
            resume(folder, make())
            save(folder, make(step), step)
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes that end in the middle are forked")
def test_a_save_that_ends_at_any_moment_leaves_a_whole_checkpoint(tmp_path):
    for step in (1, 2):
        save(tmp_path, make(step), step)
    last, seen = 2, []
    while (0, 1) not in seen:
        ended = save_until(len(seen), tmp_path, last + 1)
        seen.append((ended, latest(tmp_path) - last))
        assert seen[-1] in ((9, 0), (9, 1), (0, 1))
        last, found = latest(tmp_path), make()
        assert load(tmp_path, found).step == last
        assert torch.equal(found.model.weight, make(last).model.weight)
    assert {(9, 0), (9, 1)} < set(seen)  # before its name, after it, at last
    assert len(names(tmp_path)) == 2  # and no draft is left
