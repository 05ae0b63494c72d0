"""TP-3: naive model parallelism, forward: put the parts together."""

from helpers.grade import Task
from tasks._mpi import Comm

TASK = Task(
    id="TP-3",
    title="collect the parts of the second layer's input and output",
    file="TP/model/func_impl.py",
    function="naive_collect_forward_input",
    also=("naive_collect_forward_output",),
    notebook="12",
    points=15,
    minutes=20,
    ranks=4,
    hints=(
        "Both functions do the same: every rank has some of the columns, and needs all of them. "
        "Which collective is that? And in which order does it put what it gets into memory?",
        "Allgather writes the arrays of the ranks one after the other: into an array of shape "
        "(mp_size, *x.shape), of the dtype of x. The parts belong side by side, along the last "
        "axis. MPI sends memory, and x may be a view with gaps.",
        "Make an empty array of shape (mp_size, *x.shape) with the dtype of x. Allgather "
        "np.ascontiguousarray(x) into it. Return np.concatenate(list(it), axis=-1): the mp_size "
        "arrays that it holds, side by side.",
    ),
)


def run(module, case):
    """On every rank: what the work gives, and the array that came in, afterwards.

    case: the function, the name of its array, whether that has gaps in memory, and each rank's.
    """
    import numpy as np

    comm = Comm()
    x = np.array(case["arrays"][comm.rank], order="F" if case["gaps"] else "C")
    given = {case["name"]: x, "mp_comm": comm, "mp_size": comm.size}
    return {"result": getattr(module, case["function"])(**given), "afterwards": x}
