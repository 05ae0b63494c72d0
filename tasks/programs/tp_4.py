"""TP-4: wrong and right work, as programs."""

from helpers.grade.task import Program

BODY = """
        if 'x' in locals():
            x = locals()['x']
            return x
        if 'out' in locals():
            out = locals()['out']
            total = np.empty(out.shape, out.dtype)
            mp_comm.Allreduce(np.ascontiguousarray(out), total)
            return g.sum(axis=0)
        if 'output_grad' in locals():
            output_grad = locals()['output_grad']
            return output_grad
        if 'grad_x' in locals():
            grad_x = locals()['grad_x']
            return grad_x
        """

PROGRAMS = (
    Program(
        "own term",
        BODY.replace(
            (
                "total = np.empty(out.shape, out.dtype)\n"
                "            mp_comm.Allreduce(np.ascontiguousarray(out), total)\n"
                "            return g.sum(axis=0)"
            ),
            "return out",
        ),
        says="this is this rank's own term",
    ),
    Program(
        "mean",
        BODY.replace("g.sum(axis=0", "(total / mp_size).astype(out.dtype"),
        says="this is the mean of the terms",
    ),
    Program(
        "the gradient of the input summed",
        BODY.replace("g.sum(axis=0)", "total").replace(
            "return grad_x",
            (
                "total = np.empty(grad_x.shape, grad_x.dtype)\n"
                "            mp_comm.Allreduce(np.ascontiguousarray(grad_x), total)\n"
                "            return total"
            ),
        ),
        says="Allreduce is not needed",
    ),
)

RIGHT = {
    "gathered and added": BODY.replace(
        "total = np.empty(out.shape", "g = np.empty((mp_size, *out.shape)"
    ).replace(
        "mp_comm.Allreduce(np.ascontiguousarray(out), total",
        "locals()['mp_comm'].Allgather(np.ascontiguousarray(out), g",
    ),
}
