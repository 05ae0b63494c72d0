"""Who talks to whom, and what: the communication of a two-layer network on a grid of ranks.

Arrays are NumPy's. The last axis is that of the features; the ranks of a model-parallel group each
hold an equal part of them, in the order of their ranks. B: rows, in: features before a layer, out:
features after it, m: mp_size.

Every function keeps the type of its array, and takes a raw communicator of mpi4py as well as a
`Communicator`. Their arguments have different names and orders, so call Split with keywords, and
the others with two arrays. MPI sends memory: what you give it must have no gaps
(np.ascontiguousarray).
"""

import numpy as np


def get_info(comm, rank, mp_size, dp_size, is_fc1, is_megatron_mp, in_dim, out_dim):
    """Return the place of a rank, its two groups, and the size of its part of a layer.

    comm: all mp_size * dp_size ranks. Ranks 0 … mp_size-1 are the first copy of the model, and so
    on. is_fc1: the first layer, else the second. in_dim, out_dim: of the whole layer.

    Naive: both layers are cut along their outputs. Megatron: the first one along its outputs, the
    second one along its inputs (Shoeybi et al. 2019, arXiv 1909.08053).

    Returns (mp_idx, dp_idx, mp_comm, dp_comm, part_in_dim, part_out_dim).
    mp_idx: which part of the layers is here. dp_idx: in which copy of the model.
    mp_comm: the ranks of this copy, by mp_idx. dp_comm: the ranks with this part, by dp_idx.

    Raises ValueError where mp_size * dp_size is not the number of ranks, and where mp_size does not
    divide the dimension that is cut. Every rank must call it.
    """
    ranks, wanted = comm.Get_size(), mp_size * dp_size
    if wanted != ranks:
        told = f"choose two numbers whose product is {ranks}, or start {wanted} ranks"
        grid = f"mp_size {mp_size} x dp_size {dp_size} is {wanted}"
        raise ValueError(f"{grid}, and there are {ranks} ranks: {told}")
    cuts_inputs = is_megatron_mp and not is_fc1
    cut, what = (in_dim, "inputs") if cuts_inputs else (out_dim, "outputs")
    if cut % mp_size:
        told = f"{mp_size} equal parts: choose an mp_size that divides {cut}"
        raise ValueError(f"a layer of {cut} {what} cannot be cut into {told}")
    # BEGIN SOLUTION TP-2
    mp_idx, dp_idx = rank % mp_size, rank // mp_size
    mp_comm = comm.Split(color=dp_idx, key=mp_idx)
    dp_comm = comm.Split(color=mp_idx, key=dp_idx)
    if is_megatron_mp and not is_fc1:
        part_in_dim, part_out_dim = in_dim // mp_size, out_dim
    else:
        part_in_dim, part_out_dim = in_dim, out_dim // mp_size
    return mp_idx, dp_idx, mp_comm, dp_comm, part_in_dim, part_out_dim
    # END SOLUTION


def naive_collect_forward_input(x, mp_comm, mp_size):
    """Before the second layer: each rank has (B, in/m), and gets the whole (B, in)."""
    # BEGIN SOLUTION TP-3
    gathered = np.empty((mp_size, *x.shape), x.dtype)
    mp_comm.Allgather(np.ascontiguousarray(x), gathered)
    return np.concatenate(list(gathered), axis=-1)
    # END SOLUTION


def naive_collect_forward_output(out, mp_comm, mp_size):
    """After the second layer: each rank has (B, out/m), and gets the whole (B, out)."""
    # BEGIN SOLUTION TP-3
    return naive_collect_forward_input(out, mp_comm, mp_size)
    # END SOLUTION


def megatron_collect_forward_input(x, mp_comm, mp_size):
    """Before the second layer: each rank has (B, in/m), which is just what its rows of W take."""
    return x


def megatron_collect_forward_output(out, mp_comm, mp_size):
    """After the second layer: each rank has one term (B, out), without the bias; it gets the sum.

    The bias comes after this, once. A bias that is in every term is in the sum m times.
    """
    return sum_over(out, mp_comm)


def naive_collect_backward_output(output_grad, mp_group_idx, mp_size):
    """The gradient of the whole output, (B, out), comes in; the part of this rank, (B, out/m)."""
    part = output_grad.shape[-1] // mp_size
    mine = output_grad[..., mp_group_idx * part : (mp_group_idx + 1) * part]
    return np.ascontiguousarray(mine)


def naive_collect_backward_x(grad_x, mp_comm, mp_size):
    """Each rank has one term of the input's gradient, (B, in); it gets its part of the sum,
    (B, in/m)."""
    parts = np.ascontiguousarray(np.split(grad_x, mp_size, axis=-1))  # part by part in memory
    mine = np.empty(parts.shape[1:], grad_x.dtype)
    mp_comm.Reduce_scatter(parts, mine)
    return mine


def megatron_collect_backward_output(output_grad, mp_group_idx, mp_size):
    """The gradient of the whole output, (B, out), as it is: each row of W acts on all outputs."""
    return output_grad


def megatron_collect_backward_x(grad_x, mp_comm, mp_size):
    """The gradient of this rank's part of the input, (B, in/m), as it is: nobody else has it."""
    return grad_x


def collect_weight_grad(grad_w, grad_b, dp_comm):
    """The sum of the gradients of all copies of the model: of the weight and of the bias.

    The sum, not the mean: in this lab each copy divides by the rows of the whole batch already.
    """
    return sum_over(grad_w, dp_comm), sum_over(grad_b, dp_comm)


def sum_over(array, comm):
    together = np.empty(array.shape, array.dtype)
    comm.Allreduce(np.ascontiguousarray(array), together)
    return together
