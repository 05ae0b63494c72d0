"""Work that does what its docstring asks, and nothing more, shows its waiting in the trace."""

import time

import pytest
import torch.distributed as dist

from helpers.check.task import load_module, load_task
from helpers.hang.monitor import record_messages
from helpers.ranks import find_place, launch
from helpers.trace import Recorder, idle_by_cause, with_waits
from tasks import _stages
from tests.tasks.test_tasks import PROGRAMS, planted

pytestmark = pytest.mark.ranks

TASK = load_task("PP-1")
SECONDS = 0.05  # of each pass


def paced_step(path, case):
    """On a rank: the trace of one batch, through a stage that sleeps where a device computes."""
    place, recorder = find_place(), Recorder(find_place().rank)
    stage = _stages.Stage(case["weights"][place.rank], case["vocab_size"])
    stage.begin()

    def sleep(*_):
        time.sleep(SECONDS)

    def sleep_twice(module, given, y):  # now, and when the gradient of y comes
        sleep()
        y.register_hook(sleep)

    stage.register_forward_hook(sleep_twice)
    work = load_module(path, "the_work")
    dist.barrier()
    with record_messages(recorder):
        work.forward_backward(stage, case["calls"][0][1], place, recorder)
    return recorder.trace()


@pytest.mark.parametrize("name", ["the solution", "both in one batch"])
def test_a_naive_pipeline_waits_for_its_messages(name, tmp_path):
    path = tmp_path / "work.py"
    path.write_text(planted(TASK, PROGRAMS["PP-1"].get(name, {})), encoding="utf-8")
    (case,), ranks = _stages.cases(1, [(1, 3, 7)]), _stages.RANKS
    first, *others = launch(paced_step, ranks, (path, case), quiet=True, checked=False)
    step = with_waits(first.merged(*others))
    for rank, causes in idle_by_cause(step).items():
        passes = 2 * (ranks - 1) - rank  # those of others that this rank waits for
        assert causes["wait"] > 0.7 * passes * SECONDS, (rank, causes)
