"""TP-4: wrong and right work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "mean",
        {"return total": "return (total / mp_size).astype(out.dtype)"},
        says="this is the mean of the terms",
    ),
    Program(
        "the gradient of the input summed",
        {
            "return grad_x": (
                "total = np.empty(grad_x.shape, grad_x.dtype)\n"
                "mp_comm.Allreduce(np.ascontiguousarray(grad_x), total)\n"
                "return total"
            )
        },
        says="Allreduce is not needed",
    ),
)

RIGHT = {
    "gathered and added": {
        "np.empty(out.shape": "np.empty((mp_size, *out.shape)",
        "Allreduce": "Allgather",
        "return total": "return total.sum(axis=0)",
    },
}
