"""GP-5 (problem 2.2): one tick of the clock, in the workers."""

import threading

from helpers.grade import Task
from tasks import _gp

TASK = Task(
    id="GP-5",
    title="compute what one tick of the clock asks for, in the worker threads",
    file="gpt2/pipeline/pipe.py",
    function="Pipe.compute",
    notebook="20",
    points=15,
    minutes=30,
    hints=(
        "Two things must happen for each (micro-batch, part) of a tick: ask its worker, and get "
        "its answer. If you wait for the first answer before you ask the second worker, which "
        "worker is idle meanwhile?",
        "First a loop that puts a Task into the in-queue of each part; then a loop that takes "
        "from the out-queues. A worker answers (True, (task, result)) or (False, exc_info).",
        "in_queues[j].put(Task(partial(self.one, j, i, batches[i]))) for all of the tick. Then "
        "take all answers: done, answer = out_queues[j].get(). Only then go through them: if not "
        "done, raise answer[1]; otherwise answer[1] is the new batches[i]. A lambda in the loop "
        "would see only the last i and j, so use partial.",
    ),
)
TOGETHER_S = 10.0  # how long one part waits to see the other at work


def run(module, case):
    """What ticks make of the micro-batches; who was at work together; what an error does.

    case: {"layers": their weights, "batches", "ticks": the schedule of each}.
    """
    module._split_module = _gp.split_by_hand
    marked, x = _gp.marked(case["layers"]), case["batches"]
    with module.Pipe(marked, 2) as pipe:
        batches = list(x)
        for tick in case["ticks"]:
            pipe.compute(batches, tick)
    meeting, met = threading.Barrier(2), []

    def meet(j, i, batch):
        try:
            meeting.wait(TOGETHER_S)
            met.append(j)
        except threading.BrokenBarrierError:
            pass
        return batch

    def fail(j, i, batch):
        raise KeyError("a layer has failed")

    with module.Pipe(marked, 2) as pipe:
        pipe.one = meet
        pipe.compute(list(x), [(1, 0), (0, 1)])
    raised = "nothing"
    with module.Pipe(marked, 2) as pipe:
        pipe.one = fail
        try:
            pipe.compute(list(x), [(0, 0)])
        except BaseException as error:
            raised = f"{type(error).__name__}: {error}"
    if "a layer has failed" in raised:
        raised = "the error of the layer"
    return {
        "batches": [batch.detach() for batch in batches],
        "together": sorted(met),
        "raised": raised,
    }
