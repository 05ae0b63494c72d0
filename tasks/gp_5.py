"""GP-5 (problem 2.2): one tick of the clock, in the workers."""

from pathlib import Path

from helpers.grade import Mistake, Submission, Task
from helpers.grade.task import load_module

gp = load_module(Path(__file__).with_name("_gp.py"), "lab_task_gp")

TASK = Task(
    id="GP-5",
    title="compute what one tick of the clock asks for, in the worker threads",
    file="gpt2/pipeline/pipe.py",
    function="Pipe.compute",
    notebook="16",
    points=15,
    minutes=30,
    hints=(
        "Two things must happen for each (micro-batch, part) of a tick: ask its worker, and take "
        "its answer. If you take the first answer before you ask the second worker, who waits?",
        "First a loop that puts a Task into the in-queue of each part; then a loop that takes "
        "from the out-queues. A worker answers (True, (task, result)) or (False, exc_info).",
        "in_queues[j].put(Task(partial(self.one, j, i, batches[i]))) for all of the tick. Then "
        "take all answers: done, answer = out_queues[j].get(). Only then, for each: where not "
        "done, raise answer[1]; else answer[1] is the new batches[i]. A lambda in the loop would "
        "see the last i and j only: use partial.",
    ),
)
SHAPE = (3, 2, 3)  # micro-batches, samples, numbers
TOGETHER_S = 10.0  # how long one part waits to see the other at work


def work(module, seed):
    """What ticks make of the micro-batches; who was at work together; what an error does."""
    import threading

    module._split_module = gp.split_by_hand
    layers, x = gp.two_layers(seed, *SHAPE)
    marked, x = gp.marked(layers), list(x)
    with module.Pipe(marked, 2) as pipe:
        batches = list(x)
        for tick in gp.clock_by_hand(3, 2):
            pipe.compute(batches, tick)
        values = [batch.detach() for batch in batches]
    with module.Pipe(marked, 2) as pipe:
        meeting, met = threading.Barrier(2), []

        def one(j, i, batch):
            try:
                meeting.wait(TOGETHER_S)
                met.append(j)
            except threading.BrokenBarrierError:
                pass
            return batch

        pipe.one = one
        pipe.compute(list(x), [(1, 0), (0, 1)])
    return values, sorted(met), of_errors(module, marked, x)


def of_errors(module, marked, x):
    """What comes out where the layer of a worker raises."""
    with module.Pipe(marked, 2) as pipe:

        def one(j, i, batch):
            raise KeyError("a layer has failed")

        pipe.one = one
        try:
            pipe.compute(list(x), [(0, 0)])
        except BaseException as error:
            return f"{type(error).__name__}: {error}"
        return "nothing"


def verify(submission: Submission) -> None:
    """Raises Mistake or WorkFailed."""
    ((values, met, error),) = submission.on_ranks(work, 1, submission.seed)
    layers, x = gp.two_layers(submission.seed, *SHAPE)
    for i, (found, batch) in enumerate(zip(values, x, strict=True)):
        if gp.near(found, layers(batch)):
            continue
        if gp.near(found, layers[0](batch)):
            raise Mistake(f"micro-batch {i} has gone through part 0 only")
        raise Mistake(
            f"micro-batch {i} is not what the layers make of it: put each result into batches[i], "
            "and let each task keep its own i and j"
        )
    if met != [0, 1]:
        raise Mistake(
            "the parts work one after the other: ask all workers of a tick first, then take the "
            "answers"
        )
    if "a layer has failed" not in error:
        raise Mistake(
            f"a layer raises KeyError in a worker, and out of compute comes {error}: raise the "
            "worker's error where done is False"
        )
