"""Ranks that are killed: the others end, the rank is named, and the training goes on.

A chain of runs: each goes on where the one before was killed, now in a step and now at a moment of
a save. tests/fuzz/test_checkpoints.py kills at random moments.
"""

import os
import shutil
import signal

import pytest
import torch.distributed as dist

from helpers.checkpoint import latest, load, resume, save
from helpers.grid import Grid
from helpers.ranks import launch

from .layouts import ONE, Trainer

EVERY = 2
MOMENTS = ("half its part is written", "before it has its name", "while an old one is removed")
TOLERANCE = 1e-12
pytestmark = pytest.mark.skipif(
    not hasattr(signal, "SIGKILL"), reason="ranks are killed by SIGKILL"
)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def cut_and_die(descriptor):
    """In place of fsync: half of what was written is on the disk."""
    os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
    die()


def prepare_to_die(moment):
    """This rank will die in its next save, at this moment."""
    if moment == MOMENTS[0]:
        os.fsync = cut_and_die
    elif moment == MOMENTS[1]:
        os.rename = lambda *names: die()
    elif moment == MOMENTS[2]:
        shutil.rmtree = lambda *names, **how: die()


def go_on(folder, end, rank=None, step=None, moment=None):
    """Train until `end`, unless one rank dies: in this step, or in the save after it."""
    trainer = Trainer(Grid(dp=2), "adam", layers=1)
    done = resume(folder, trainer.training)
    mine = dist.get_rank() == rank
    losses = {}
    for number in range(done.step, end):
        if mine and number == step and moment is None:
            trainer.before_averaging = die
        losses[number] = trainer.step(number)
        if (number + 1) % EVERY == 0:
            if mine and number == step:
                prepare_to_die(moment)
            save(folder, trainer.training, number + 1, position=number + 1)
    return losses


def killed(folder, rank, **how):
    """Start the ranks, one of which will die; what the launcher says, and the last step saved."""
    report = launch(
        go_on,
        2,
        (str(folder), 10**6, rank, *how.values()),
        on_error="report",
        quiet=True,
        timeout=200,
    )
    said = str(report)
    assert said.startswith(f"rank {rank} ended without a word: it was ended by SIGKILL"), said
    assert f"rank {1 - rank} was stopped" in said
    return latest(folder)


def test_a_rank_that_is_killed_costs_the_steps_since_the_last_save(tmp_path):
    last = 0
    for rank, moment in ((1, MOMENTS[0]), (0, MOMENTS[1]), (0, MOMENTS[2])):
        # In the second step after a save: the save is there, the step and the one before are lost.
        assert killed(tmp_path, 1 - rank, step=last + EVERY + 1) == last + EVERY
        last += EVERY
        found = killed(tmp_path, rank, step=last + EVERY - 1, moment=moment)
        # It has its name before an old one is removed.
        assert found == last + EVERY * (moment == MOMENTS[2])
        last = found

    alone = Trainer(ONE, "adam", layers=1)
    right = alone.steps(0, last + 4)
    for rank in launch(go_on, 2, (str(tmp_path), last + 4), quiet=True):
        assert sorted(rank) == list(range(last, last + 4))
        assert list(rank.values()) == pytest.approx(right[last:], abs=TOLERANCE)
    found = Trainer(ONE, "adam", layers=1)
    assert load(tmp_path, found.training).step == last + 4
    for mine, theirs in zip(alone.stage.parameters(), found.stage.parameters(), strict=True):
        assert (mine - theirs).abs().max() < TOLERANCE
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == [
        f"step-{step:08d}" for step in (last + 2, last + 4)
    ]
