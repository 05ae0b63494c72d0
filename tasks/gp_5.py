"""GP-5 (problem 2.2): one tick of the clock, in the workers."""

from functools import partial

from helpers.grade import Task
from tasks import _gp

TASK = Task(
    title="compute what one tick of the clock asks for, in the worker threads",
    file="gpt2/pipeline/pipe.py",
    function="Pipe.compute",
    lesson="gpt2_two_ways",
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


def observe(module, case):
    """What ticks make of the micro-batches; whom a tick asks first; what an error does.

    case: {"layers": their weights, "batches", "ticks": the schedule of each}.
    """
    module._split_module = _gp.split_by_hand
    marked, batches = _gp.marked(case["layers"]), list(case["batches"])
    with module.Pipe(marked, 2) as pipe:
        for tick in case["ticks"]:
            pipe.compute(batches, tick)
    asked, then = [], []  # the parts; those that were asked already when an answer was taken
    with module.Pipe(marked, 2) as pipe:
        for j, (to, of) in enumerate(zip(pipe.in_queues, pipe.out_queues, strict=True)):
            to.put = _after(partial(asked.append, j), to.put)
            of.get = _after(lambda: then.append([f"part {j}" for j in sorted(asked)]), of.get)
        pipe.compute(list(case["batches"]), [(1, 0), (0, 1)])
    raised = "nothing"
    with module.Pipe(marked, 2) as pipe:
        pipe.one = _fail
        try:
            pipe.compute(list(case["batches"]), [(0, 0)])
        except BaseException as error:
            raised = f"{type(error).__name__}: {error}"
    return {
        "asked before an answer is taken": " and ".join(then[0]) if then else "",
        "raised": "the error of the layer" if "a layer has failed" in raised else raised,
        "micro-batches": [getattr(batch, "detach", lambda: None)() for batch in batches],
    }


def _after(note, call):
    def noted(*args, **flags):
        note()
        return call(*args, **flags)

    return noted


def _fail(j, i, batch):
    raise KeyError("a layer has failed")


def cases(seed):
    """Two layers, some micro-batches, and the ticks of the clock."""
    import torch

    draw = torch.Generator().manual_seed(seed)
    count = int(torch.randint(3, 6, (), generator=draw))
    layers = [
        {"weight": torch.randn(3, 3, generator=draw), "bias": torch.randn(3, generator=draw)}
        for _ in range(2)
    ]
    ticks = [[(k - j, j) for j in (0, 1) if 0 <= k - j < count] for k in range(count + 1)]
    batches = list(torch.randn(count, 2, 3, generator=draw))
    return [{"layers": layers, "batches": batches, "ticks": ticks}]


ASK, KEEP = "partial(self.one, j, i, batches[i])", "batches[i] = answer[1]"
MUTANTS = {
    f"""
for i, j in schedule:
    self.in_queues[j].put(Task({ASK}))
    done, answer = self.out_queues[j].get()
    if not done:
        raise answer[1]
    {KEEP}
""": "the parts work one after the other: ask all workers of a tick first, then take the answers",
    "for i, j in schedule:\n    batches[i] = self.one(j, i, batches[i])": "no worker is asked, so "
    "the parts work one after the other: put each Task into the part's in-queue",
    (
        "for i, j in schedule:\n    self.in_queues[j]",
        "i, j = schedule[-1]\nfor _, part in schedule:\n    self.in_queues[part]",
    ): "let each task keep its own i and j: a lambda in the loop sees the last ones",
    (KEEP, "pass"): "the micro-batches are as they came in: put each result into batches[i]",
    ("raise answer[1].with_traceback(answer[2])", "continue"): "the error of a worker is lost: "
    "raise it where done is False",
    (ASK, "partial(self.one, 0, i, batches[i])"): "each part computes part 0: give self.one the j "
    "of its own",
}


def explain(case, seen):
    """Say which of the three facts is wrong; two of them are the same in all right work."""
    if seen["asked before an answer is taken"] != "part 0 and part 1":
        return (
            "the parts work one after the other: ask all workers of a tick first, then take the "
            "answers"
        )
    if seen["raised"] != "the error of the layer":
        return (
            f"a layer raises KeyError in a worker, and out of compute comes {seen['raised']}: "
            "raise the worker's error where done is False"
        )
    return (
        "the micro-batches are not what the layers make of them: put each result into batches[i], "
        "and let each task keep its own i and j"
    )
