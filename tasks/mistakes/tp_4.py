"""Wrong ways to do TP-4, each to be caught with words of its own; and right ways, to be passed.

One body stands in all four functions, and finds out by its arguments which one it is.
"""

from helpers.grade import PlantedMistake


def four(
    x="return x",
    out="total = np.empty(out.shape, out.dtype); "
    "mp_comm.Allreduce(np.ascontiguousarray(out), total); return total",
    output_grad="return output_grad",
    grad_x="return grad_x",
):
    names = {"x": x, "out": out, "output_grad": output_grad, "grad_x": grad_x}
    lines = []
    for name, body in names.items():
        lines += [f"if {name!r} in locals():", f"    {name} = locals()[{name!r}]", f"    {body}"]
    return "\n".join(lines)


def gather(name):
    return (
        f"g = np.empty((mp_size, *{name}.shape), {name}.dtype); "
        f"locals()['mp_comm'].Allgather(np.ascontiguousarray({name}), g); "
        "return np.concatenate(list(g), axis=-1)"
    )


TOTAL = four.__defaults__[1]

MISTAKES = (
    PlantedMistake("own term", four(out="return out"), says="this is this rank's own term"),
    PlantedMistake(
        "side by side", four(out=gather("out")), says="the terms are side by side, as the naive"
    ),
    PlantedMistake(
        "mean",
        four(out=TOTAL.replace("return total", "return (total / mp_size).astype(out.dtype)")),
        says="this is the mean of the terms",
    ),
    PlantedMistake(
        "in place",
        four(out=TOTAL.replace("return total", "out[...] = total; return out")),
        says="the array that came in has changed",
    ),
    PlantedMistake(
        "no dtype",
        four(out=TOTAL.replace(", out.dtype", "")),
        says="make the second with the dtype of the first",
    ),
    PlantedMistake(
        "gaps in memory",
        four(out=TOTAL.replace("np.ascontiguousarray(out)", "out")),
        says="the first array has gaps in memory",
    ),
    PlantedMistake(
        "no return",
        four(out=TOTAL.replace("; return total", "; return")),
        says="this is nothing: end the function with return",
    ),
    PlantedMistake(
        "the input gathered",
        four(x=gather("x")),
        says="megatron_collect_forward_input on rank 0: Allgather is not needed: its rows of W",
    ),
    PlantedMistake(
        "the gradient of the output cut",
        four(output_grad="return np.split(output_grad, mp_size, -1)[locals()['mp_group_idx']]"),
        says="its rows of W have a part in every output, so give the whole array",
    ),
    PlantedMistake(
        "the gradient of the input summed",
        four(grad_x=TOTAL.replace("out", "grad_x")),
        says="megatron_collect_backward_x on rank 0: Allreduce is not needed",
    ),
    PlantedMistake(
        "the gradient of the input doubled",
        four(grad_x="return 2 * grad_x"),
        says="the gradient of its own inputs depends on its own rows of W, so give the array",
    ),
)

ALSO_RIGHT = {
    "zeros_like": four(
        out="total = np.zeros_like(out, order='C'); "
        "mp_comm.Allreduce(out.copy(order='C'), total); return total"
    ),
    "gathered and added": four(
        out=gather("out").replace("np.concatenate(list(g), axis=-1)", "g.sum(axis=0)")
    ),
    "copies": four(x="return x.copy()", grad_x="return grad_x.copy()"),
}
