"""TP-4: Megatron's model parallelism, forward and backward of the second layer."""

from pathlib import Path

import numpy as np

from helpers.grade import Mistake, Submission, Task
from helpers.grade.task import load_module

mpi = load_module(Path(__file__).with_name("_mpi.py"), "lab_task_mpi")

TASK = Task(
    id="TP-4",
    title="say what Megatron's second layer sends, forward and backward",
    file="TP/model/func_impl.py",
    function="megatron_collect_forward_output",
    also=(
        "megatron_collect_forward_input",
        "megatron_collect_backward_output",
        "megatron_collect_backward_x",
    ),
    notebook="11",
    points=15,
    minutes=20,
    hints=(
        "The second layer has some rows of W on each rank: those for the inputs that this rank "
        "has. So what does it need of the others before it multiplies? And what is its product: "
        "a part of the output, or one term of it?",
        "Three of the four functions send nothing: their array is what the rank needs already. "
        "The output is a sum of one term of each rank, which every rank needs.",
        "megatron_collect_forward_output: an empty array with the shape and the dtype of out, "
        "and Allreduce of np.ascontiguousarray(out) into it. The other three give their array.",
    ),
)

RANKS = 3
SUM = "megatron_collect_forward_output"
FUNCTIONS = {
    "megatron_collect_forward_input": "x",
    SUM: "out",
    "megatron_collect_backward_output": "output_grad",
    "megatron_collect_backward_x": "grad_x",
}
CASES = [((6, 3), "float64"), ((2, 6), "float32")]


def inputs(seed, rank, number):
    """A rank's array: in the first case a view with gaps in memory."""
    shape, dtype = CASES[number]
    x = mpi.draw(seed + number, rank, shape, dtype)
    return np.asfortranarray(x) if number == 0 else x


def work(module, seed):
    """On every rank, beside the student's code: of each function and case the result, the array
    afterwards, and the collectives that were called."""
    comm, found = mpi.Comm(), {}
    for function, name in FUNCTIONS.items():
        for number in range(len(CASES)):
            x = inputs(seed, comm.rank, number)
            place = {"mp_comm": comm}
            if name == "output_grad":
                place = {"mp_group_idx": comm.rank}
            comm.calls = []
            result = getattr(module, function)(**{name: x}, **place, mp_size=comm.size)
            found[function, number] = result, x, comm.calls
    return found


def verify(submission: Submission) -> None:
    """Compare with the sums, and with what came in. Raises Mistake or WorkFailed."""
    answers = mpi.on_ranks(submission, work, RANKS)
    for rank, found in enumerate(answers):
        for (function, number), (result, after, calls) in found.items():
            each = [inputs(submission.seed, r, number) for r in range(RANKS)]
            where = f"{function} on rank {rank}"
            if function == SUM:
                judge_sum(where, result, each, rank)
            else:
                judge_same(where, function, result, each[rank], calls)
            if not mpi.same(after, each[rank]):
                raise Mistake(f"{where}: the array that came in has changed: write to a new one")


def judge_sum(where, found, terms, rank):
    """The output of the layer. Raises Mistake."""
    total = sum(terms)
    if mpi.same(found, total):
        return
    known = {
        "this is this rank's own term: the output is the sum of the terms of all ranks": (
            terms[rank]
        ),
        "the terms are side by side, as the naive way puts its parts; here each rank has one term "
        "of every output: add them up": np.concatenate(terms, axis=-1),
        "this is the mean of the terms, and the output is their sum": (total / RANKS).astype(
            total.dtype
        ),
    }
    for sentence, array in known.items():
        if mpi.same(found, array):
            raise Mistake(f"{where}: {sentence}")
    raise Mistake(
        f"{where}: this is {mpi.told(found)}, and not the sum of all ranks' arrays, {total.dtype} "
        f"of shape {total.shape}"
    )


NEEDS = {
    "megatron_collect_forward_input": "its rows of W take exactly the inputs that it has",
    "megatron_collect_backward_output": "its rows of W have a part in every output",
    "megatron_collect_backward_x": "the gradient of its own inputs depends on its own rows of W",
}


def judge_same(where, function, found, right, calls):
    """What should come back as it is. Raises Mistake."""
    if calls:
        raise Mistake(
            f"{where}: {calls[0]} is not needed: {NEEDS[function]}, so the rank has all it needs"
        )
    if mpi.same(found, right):
        return
    if isinstance(found, np.ndarray) and found.shape != right.shape:
        raise Mistake(
            f"{where}: {right.shape} came in and {found.shape} comes out: {NEEDS[function]}, so "
            "give the whole array"
        )
    raise Mistake(
        f"{where}: this is {mpi.told(found)}: {NEEDS[function]}, so give the array as it is"
    )
