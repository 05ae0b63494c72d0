"""One process: what stands on the disk, what is whole, and a save that ends at every moment."""

import json
import os
import shutil
from pathlib import Path

import pytest
import torch
from torch import nn

from helpers.checkpoint import CheckpointError, Training, latest, load, loading, resume, save, steps


def make(seed=0):
    torch.manual_seed(seed)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    return Training(model, optimizer)


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


def test_the_last_ones_stay(tmp_path):
    folder = tmp_path / "not" / "there"
    assert (latest(folder), steps(folder)) == (None, [])
    for step in (1, 2, 5, 7):
        path = save(folder, make(), step, keep=3)
        assert path.name == f"step-{step:08d}" and latest(folder) == step
    assert steps(folder) == [2, 5, 7]
    assert names(path) == [".metadata", "__0_0.distcp", "checkpoint.json"]


def test_weights_momenta_settings_position_and_random_numbers_come_back(tmp_path):
    training = make()
    training.optimizer.param_groups[0]["lr"] = 0.025
    save(tmp_path, training, 4, position={"story": 17})
    drawn = torch.rand(3)
    other = make(seed=1)
    done = load(tmp_path, other)
    assert (done.step, done.position, done.random) == (4, {"story": 17}, True)
    assert torch.equal(torch.rand(3), drawn)
    assert other.optimizer.param_groups[0]["lr"] == 0.025
    for mine, theirs in zip(training.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
        (buffer,) = other.optimizer.state[theirs].values()
        assert torch.equal(training.optimizer.state[mine]["momentum_buffer"], buffer)


def test_groups_of_parameters_keep_their_own_settings(tmp_path):
    def grouped(rates):
        model = nn.Linear(3, 2)
        groups = [{"params": [p], "lr": r} for p, r in zip(model.parameters(), rates, strict=True)]
        return Training(model, torch.optim.Adam(groups, betas=(0.5, 0.75)))

    save(tmp_path, grouped((0.1, 0.2)), 1)
    other = grouped((0.3, 0.3))
    load(tmp_path, other)
    assert [group["lr"] for group in other.optimizer.param_groups] == [0.1, 0.2]
    assert other.optimizer.param_groups[0]["betas"] == (0.5, 0.75)
    model = nn.Linear(3, 2)
    with pytest.raises(CheckpointError, match="were in different groups"):
        load(tmp_path, Training(model, torch.optim.Adam(model.parameters())))


def test_nothing_there_is_a_beginning_and_a_draft_is_nothing(tmp_path):
    assert resume(tmp_path / "none", make()).step == 0
    (tmp_path / ".step-00000005.0123456789abcdef.draft").mkdir()
    assert resume(tmp_path, make()).path is None
    save(tmp_path, make(), 6)
    assert names(tmp_path) == ["step-00000006"]  # the draft of a run that was killed is gone


def damage(path, how):
    file = path / "__0_0.distcp"
    if how == "facts":
        (path / "checkpoint.json").unlink()
    elif how == "file":
        file.unlink()
    elif how == "cut":
        file.write_bytes(file.read_bytes()[:-100])
    elif how == "renamed":
        path.rename(path.with_name("elsewhere"))
        shutil.copytree(save(path.parent, make(), 9), path)
        shutil.rmtree(path.with_name("step-00000009"))
    elif isinstance(how, str):
        (path / "checkpoint.json").write_text(how)
    else:
        facts = json.loads((path / "checkpoint.json").read_text())
        (path / "checkpoint.json").write_text(json.dumps(facts | how, indent=1))


OTHER_BYTES = "checkpoint.json holds other bytes than were written"


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("facts", "checkpoint.json, which is written last, is missing"),
        ("file", "__0_0.distcp, what rank 0 wrote, is missing"),
        ("cut", "__0_0.distcp, what rank 0 wrote, has"),
        ("renamed", "checkpoint.json is that of step 9; rename the folder step-00000009"),
        ({"format": 1}, "has format 1 and this version reads format 2"),
        ({"format": None}, OTHER_BYTES),
        ({"step": "abc"}, OTHER_BYTES),
        ({"files": None}, OTHER_BYTES),
        ({"sum": None}, OTHER_BYTES),
        ("", OTHER_BYTES),
        ('{"format": 2}', OTHER_BYTES),
        ('{"format": 1}', "has format 1 and this version reads format 2"),
        ("[" * 100_000, OTHER_BYTES),
        ('{"format":' * 800 + "1" + "}" * 800, OTHER_BYTES),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_not_whole_is_not_taken_for_whole(how, says, tmp_path, capsys):
    save(tmp_path, make(), 1)
    damage(save(tmp_path, make(), 2), how)
    assert steps(tmp_path) == [1]
    with pytest.raises(CheckpointError, match=says):
        load(tmp_path, make(), step=2)
    assert resume(tmp_path, make()).step == 1
    assert says in capsys.readouterr().out  # it is said that one was passed over
    save(tmp_path, make(), 2)  # and its place can be taken
    assert steps(tmp_path) == [1, 2]
    (aside,) = tmp_path.glob("step-00000002.set-aside-*")
    assert "is in the way and cannot be loaded" in capsys.readouterr().out and names(aside)
    for step in (1, 2):
        (tmp_path / f"step-{step:08d}" / "checkpoint.json").write_text("[]")
    with pytest.raises(CheckpointError, match=OTHER_BYTES):  # no beginning in silence
        resume(tmp_path, make())


def test_only_drafts_and_whole_checkpoints_are_ever_removed(tmp_path):
    for step in (1, 2, 3):
        damage(save(tmp_path, make(), step, keep=9), {1: {"format": 1}, 2: "[]"}.get(step, {}))
    for step in (4, 5):
        save(tmp_path, make(), step, keep=1)
    assert names(tmp_path) == [f"step-{step:08d}" for step in (1, 2, 5)]


@pytest.mark.parametrize("kind", ["a file", "a folder", "a link to nothing"])
def test_a_stranger_with_the_name_of_a_checkpoint(kind, tmp_path):
    stray = tmp_path / "step-00000009"
    if kind == "a file":
        stray.write_text("mine")
    elif kind == "a folder":
        stray.mkdir()
        (stray / "notes.txt").write_text("mine")
    else:
        stray.symlink_to("nothing")
    assert latest(tmp_path) is None and resume(tmp_path, make()).step == 0
    save(tmp_path, make(), 5, keep=1)
    with pytest.raises(CheckpointError, match="step-00000009 is in the way and is no checkpoint"):
        save(tmp_path, make(), 9)
    with pytest.raises(CheckpointError, match="no checkpoint of step 9 .* it has those of step 5"):
        load(tmp_path, make(), step=9)
    save(tmp_path, make(), 10, keep=1)
    assert names(tmp_path) == ["step-00000009", "step-00000010"]
    assert os.path.lexists(stray) and (kind == "a link to nothing" or "mine" in content(stray))


def test_a_checkpoint_that_goes_while_somebody_looks(tmp_path, monkeypatch):
    """Reading takes no lock. That one has gone doesn't mean that there are none."""
    for step in (1, 2):
        save(tmp_path, make(), step)
    listed = Path.iterdir

    def removed_first(path):
        if path.name == "step-00000001":
            shutil.rmtree(path)
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", removed_first)
    assert steps(tmp_path) == [2] and resume(tmp_path, make()).step == 2


def test_a_checkpoint_that_is_replaced_while_it_is_read(tmp_path, monkeypatch):
    save(tmp_path, make(), 1)
    monkeypatch.setattr(loading, "read_facts", lambda path: {"token": "another"})
    with pytest.raises(CheckpointError, match="was replaced while it was read: load it again"):
        load(tmp_path, make())


def content(path):
    return path.read_text() if path.is_file() else (path / "notes.txt").read_text()


def test_a_position_comes_back_as_json_has_it_or_is_refused(tmp_path):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for position, kind in ((deep, "list"), (torch.ones(1), "Tensor")):
        with pytest.raises(CheckpointError, match=f"position is a {kind}, which JSON cannot hold"):
            save(tmp_path, make(), 1, position=position)
    save(tmp_path, make(), 1, position={1: (2, float("inf")), "ä\ud800": None})
    assert load(tmp_path, make()).position == {"1": [2, float("inf")], "ä\ud800": None}


@pytest.mark.parametrize("name", ["__0_0.distcp", ".metadata", "checkpoint.json"])
def test_one_bit_that_has_turned_is_found(name, tmp_path):
    file = save(tmp_path, make(), 1, position={"rate": 1e-7}) / name
    good = file.read_bytes()
    for bit in range(0, 8 * len(good), len(good) // 5 | 1):  # some forty, at each place of a byte
        data = bytearray(good)
        data[bit // 8] ^= 1 << bit % 8
        file.write_bytes(data)
        with pytest.raises(CheckpointError, match=name):
            load(tmp_path, make())


# Every call by which a save changes the disk.
CALLS = [(os, "fsync"), (os, "rename"), (os, "replace"), (os, "mkdir"), (os, "rmdir")]
CALLS += [(os, "unlink"), (shutil, "rmtree")]


def save_until(number, folder, step):
    """In a process of its own: save, and end in the `number`th of those calls, without a word."""
    pid = os.fork()
    if pid == 0:
        count = 0

        def ending(call):
            def counted(*args, **kwargs):
                nonlocal count
                count += 1
                if count > number:
                    os._exit(9)
                return call(*args, **kwargs)

            return counted

        for module, name in CALLS:
            setattr(module, name, ending(getattr(module, name)))
        save(folder, make(step), step)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes that end in the middle are forked")
def test_a_save_that_ends_at_any_moment_leaves_a_whole_checkpoint(tmp_path):
    for step in (1, 2):
        save(tmp_path, make(step), step)
    last, number, ended = 2, 0, 9
    seen = set()
    while ended == 9:
        ended = save_until(number, tmp_path, last + 1)
        assert latest(tmp_path) in (last, last + 1)
        named = [name for name in names(tmp_path) if not name.startswith(".")]
        assert named == [f"step-{step:08d}" for step in steps(tmp_path)]  # all of them are whole
        seen.add((ended, latest(tmp_path) - last))
        last = latest(tmp_path)
        right, found = make(last), make()
        assert load(tmp_path, found).step == last
        assert torch.equal(found.model.weight, right.model.weight)
        number += 1
    assert ended == 0 and number > 8
    assert seen == {(9, 0), (9, 1), (0, 1)}  # before its name, after it, and to the end
    assert len(names(tmp_path)) == len(steps(tmp_path)) == 2
