"""GP-5 (problem 2.2): compute what one tick of the clock asks for, in the worker threads."""

from functools import partial

import torch

from helpers.check import same

LESSON, MINUTES = "micro_batches", 30
PAGE = "gpt2/README.md"


def observe(module, case):
    from pipeline.partition import WithDevice

    def pipe_of():
        # A part for each layer: the check does not depend on the student's own `_split_module`.
        parts = torch.nn.ModuleList(torch.nn.Sequential(layer) for layer in layers)
        module._split_module = lambda modules: (parts, [one.device for one in modules])
        marked = (WithDevice(layer, f"cpu:{n}") for n, layer in enumerate(layers))
        return module.Pipe(torch.nn.Sequential(*marked), 2)

    layers, batches = [torch.nn.Linear(3, 3) for _ in case["layers"]], list(case["batches"])
    for layer, weights in zip(layers, case["layers"], strict=True):
        layer.load_state_dict(weights)
    with pipe_of() as pipe:
        for tick in case["ticks"]:
            pipe.compute(batches, tick)
    asked, then = [], []  # the parts; those that were asked already when an answer was taken
    with pipe_of() as pipe:
        for j, (to, of) in enumerate(zip(pipe.in_queues, pipe.out_queues, strict=True)):
            to.put = after(partial(asked.append, j), to.put)
            of.get = after(lambda: then.append([f"part {j}" for j in sorted(asked)]), of.get)
        pipe.compute(list(case["batches"]), [(1, 0), (0, 1)])
    raised = "nothing"
    with pipe_of() as pipe:
        pipe.one = fail
        try:
            pipe.compute(list(case["batches"]), [(0, 0)])
        except BaseException as error:
            raised = f"{type(error).__name__}: {error}"
    return {
        "asked before an answer is taken": " and ".join(then[0]) if then else "",
        "raised": "the error of the layer" if "a layer has failed" in raised else raised,
        "micro-batches": [getattr(batch, "detach", lambda: None)() for batch in batches],
    }


def after(note, call):
    return lambda *args, **flags: (note(), call(*args, **flags))[1]


def fail(j, i, batch):
    raise KeyError("a layer has failed")


def cases():
    count = int(torch.randint(3, 6, ()))
    layers = [{"weight": torch.randn(3, 3), "bias": torch.randn(3)} for _ in range(2)]
    ticks = [[(k - j, j) for j in (0, 1) if 0 <= k - j < count] for k in range(count + 1)]
    batches = list(torch.randn(count, 2, 3))
    return [{"layers": layers, "batches": batches, "ticks": ticks}]


ASK = "partial(self.one, j, i, batches[i])"
MUTANTS = {
    ("for i, j in schedule:\n    self.in_queues[j]",
     "i, j = schedule[-1]\nfor _, part in schedule:\n    self.in_queues[part]"):
        "let each task keep its own i and j: a lambda in the loop sees the last ones",
    (ASK, "partial(self.one, 0, i, batches[i])"):
        "each part computes part 0: give self.one the j of its own",
}  # fmt: skip


def explain(case, seen):
    asked, raised = seen["asked before an answer is taken"], seen["raised"]
    rules = {
        "no worker is asked, so the parts work one after the other: put each Task into the part's "
        "in-queue": not asked,
        "the parts work one after the other: ask all workers of a tick first, then take the "
        "answers": asked != "part 0 and part 1",
        "the error of a worker is lost: raise it where done is False": raised == "nothing",
        f"a layer raises KeyError in a worker, and out of compute comes {raised}: raise the "
        "worker's error where done is False": raised != "the error of the layer",
        "the micro-batches are as they came in: put each result into batches[i]":
            same(seen["micro-batches"], case["batches"]),
        "the micro-batches are not what the layers make of them: put each result into batches[i], "
        "and let each task keep its own i and j": True,
    }  # fmt: skip
    return next(sentence for sentence, broken in rules.items() if broken)
