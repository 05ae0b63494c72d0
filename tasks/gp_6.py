"""GP-6 (problem 2.2): a batch through the pipeline, in micro-batches."""

from pathlib import Path

from helpers.grade import Mistake, Submission, Task
from helpers.grade.task import load_module

gp = load_module(Path(__file__).with_name("_gp.py"), "lab_task_gp")

TASK = Task(
    id="GP-6",
    title="take a batch through the pipeline in micro-batches",
    file="gpt2/pipeline/pipe.py",
    function="Pipe.forward",
    notebook="16",
    points=10,
    minutes=15,
    hints=(
        "Three steps: from a batch to micro-batches, through the pipeline, back to a batch. Which "
        "functions of this file do each?",
        "split(x, size) cuts a batch, join puts it together. split_size is the number of samples "
        "in a micro-batch, and not the number of micro-batches.",
        "batches = split(x, self.split_size); for each tick of _clock_cycles(len(batches), "
        "len(self.partitions)) call self.compute(batches, tick), which changes the list; return "
        "join(batches).",
    ),
)


def work(module, seed):
    """Of a batch and of a pair of tensors: what comes out, and the sizes that were computed."""
    module._split_module, module._clock_cycles = gp.split_by_hand, gp.clock_by_hand
    (layers, x), sizes = gp.two_layers(seed, 7, 3), []
    with module.Pipe(gp.marked(layers), 3) as pipe:

        def compute(batches, tick):
            for i, j in tick:
                batch = batches[i]
                sizes.append((j, len(batch[0] if isinstance(batch, tuple) else batch)))
                layer = pipe.partitions[j]
                pair = isinstance(batch, tuple)
                batches[i] = (layer(batch[0]), *batch[1:]) if pair else layer(batch)

        pipe.compute = compute
        alone, both = pipe(x), pipe((x, None))
    return alone.detach(), sizes, both[0].detach(), both[1] is None


def verify(submission: Submission) -> None:
    """Raises Mistake or WorkFailed."""
    ((found, sizes, pair, none),) = submission.on_ranks(work, 1, submission.seed)
    layers, x = gp.two_layers(submission.seed, 7, 3)
    right = layers(x)
    entered = [size for part, size in sizes[: len(sizes) // 2] if part == 0]
    if entered != [3, 3, 1]:
        raise Mistake(
            f"7 samples with a split size of 3 enter as micro-batches of {entered}, and should as "
            "[3, 3, 1]: split_size is the number of samples in one"
        )
    if found.shape != right.shape:
        raise Mistake(
            f"out comes {tuple(found.shape)}, and {tuple(right.shape)} should: "
            "join all micro-batches"
        )
    if not gp.near(found, right):
        if len(sizes) < 12:
            raise Mistake("not every micro-batch goes through every part: is it each tick?")
        raise Mistake("the samples are not what the layers make of them, in the order they came in")
    if not gp.near(pair, right) or not none:
        raise Mistake("a batch that is a tuple comes out otherwise: use split and join")
