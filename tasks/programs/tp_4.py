"""TP-4: wrong and right work, as programs."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "own term",
        """
        if 'x' in locals():
            x = locals()['x']
            return x
        if 'out' in locals():
            out = locals()['out']
            return out
        if 'output_grad' in locals():
            output_grad = locals()['output_grad']
            return output_grad
        if 'grad_x' in locals():
            grad_x = locals()['grad_x']
            return grad_x
        """,
        says="this is this rank's own term",
    ),
    Program(
        "mean",
        """
        if 'x' in locals():
            x = locals()['x']
            return x
        if 'out' in locals():
            out = locals()['out']
            total = np.empty(out.shape, out.dtype)
            mp_comm.Allreduce(np.ascontiguousarray(out), total)
            return (total / mp_size).astype(out.dtype)
        if 'output_grad' in locals():
            output_grad = locals()['output_grad']
            return output_grad
        if 'grad_x' in locals():
            grad_x = locals()['grad_x']
            return grad_x
        """,
        says="this is the mean of the terms",
    ),
    Program(
        "the gradient of the input summed",
        """
        if 'x' in locals():
            x = locals()['x']
            return x
        if 'out' in locals():
            out = locals()['out']
            total = np.empty(out.shape, out.dtype)
            mp_comm.Allreduce(np.ascontiguousarray(out), total)
            return total
        if 'output_grad' in locals():
            output_grad = locals()['output_grad']
            return output_grad
        if 'grad_x' in locals():
            grad_x = locals()['grad_x']
            total = np.empty(grad_x.shape, grad_x.dtype)
            mp_comm.Allreduce(np.ascontiguousarray(grad_x), total)
            return total
        """,
        says="Allreduce is not needed",
    ),
)

RIGHT = {
    "gathered and added": """
        if 'x' in locals():
            x = locals()['x']
            return x
        if 'out' in locals():
            out = locals()['out']
            g = np.empty((mp_size, *out.shape), out.dtype)
            locals()['mp_comm'].Allgather(np.ascontiguousarray(out), g)
            return g.sum(axis=0)
        if 'output_grad' in locals():
            output_grad = locals()['output_grad']
            return output_grad
        if 'grad_x' in locals():
            grad_x = locals()['grad_x']
            return grad_x
        """,
}
