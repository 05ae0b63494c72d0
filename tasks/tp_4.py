"""TP-4: Megatron's model parallelism, forward and backward of the second layer."""

from helpers.grade import Task
from tasks._mpi import Comm

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
    notebook="12",
    points=15,
    minutes=20,
    ranks=3,
    hints=(
        "The second layer has some rows of W on each rank: those for the inputs that this rank "
        "has. So what does it need from the others before it multiplies? And what is its product: "
        "a part of the output, or one term of it?",
        "Three of the four functions send nothing: their array is what the rank needs already. The "
        "output is a sum, with one term from each rank, and every rank needs it.",
        "megatron_collect_forward_output: an empty array with the shape and the dtype of out, and "
        "Allreduce of np.ascontiguousarray(out) into it. The other three return their array.",
    ),
)


def run(module, case):
    """On every rank: what the work gives, the array that came in, and the collectives called.

    case: the function, the name of its array, whether that has gaps in memory, and each rank's.
    """
    import numpy as np

    comm = Comm()
    x = np.array(case["arrays"][comm.rank], order="F" if case["gaps"] else "C")
    place = {"mp_comm": comm}
    if case["name"] == "output_grad":
        place = {"mp_group_idx": comm.rank}
    result = getattr(module, case["function"])(**{case["name"]: x}, **place, mp_size=comm.size)
    return {"result": result, "afterwards": x, "calls": comm.calls}
