"""GP-6 (problem 2.2): a batch through the pipeline, in micro-batches."""

from helpers.grade import Task
from tasks import _gp

TASK = Task(
    id="GP-6",
    title="take a batch through the pipeline in micro-batches",
    file="gpt2/pipeline/pipe.py",
    function="Pipe.forward",
    notebook="20",
    points=10,
    minutes=10,
    hints=(
        "Three steps: from a batch to micro-batches, through the pipeline, back to a batch. Which "
        "functions of this file do each?",
        "split(x, size) cuts a batch, and join puts it together. split_size is the number of "
        "samples in a micro-batch, not the number of micro-batches.",
        "batches = split(x, self.split_size); for each tick of _clock_cycles(len(batches), "
        "len(self.partitions)) call self.compute(batches, tick), which changes the list; return "
        "join(batches).",
    ),
)


def run(module, case):
    """Of a batch and of a pair of tensors: what comes out, and what was computed, in order.

    case: {"layers": their weights, "batch", "split_size",
    "clocks": {(micro-batches, parts): the schedule of each tick}}.
    """
    module._split_module = _gp.split_by_hand
    module._clock_cycles = lambda *sizes: case["clocks"].get(sizes, [])
    seen = {}
    for kind in ("batch", "pair"):
        computed = []
        with module.Pipe(_gp.marked(case["layers"]), case["split_size"]) as pipe:

            def compute(batches, tick, pipe=pipe, computed=computed):
                for i, j in tick:
                    x, *more = batches[i] if isinstance(batches[i], tuple) else (batches[i],)
                    computed.append((j, len(x)))
                    x = pipe.partitions[j](x)
                    batches[i] = (x, *more) if isinstance(batches[i], tuple) else x

            pipe.compute = compute
            out = pipe(case["batch"] if kind == "batch" else (case["batch"], None))
        seen[kind] = {"computed": computed, "out": _plain(out)}
    return seen


def _plain(out):
    if isinstance(out, tuple):
        return [_plain(part) for part in out]
    return out.detach() if hasattr(out, "detach") else out
