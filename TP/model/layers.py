"""A fully connected layer, cut for a model-parallel group, and the network of two of them.

Forward and backward are computed here; what the ranks tell each other stands in `func_impl.py`.
"""

from dataclasses import dataclass

import numpy as np
from model import func_impl


@dataclass(frozen=True)
class Grid:
    """The place of this rank: its groups, and how its layers are cut.

    comm: all ranks. mp_comm, dp_comm: those of `get_info`.
    """

    comm: object
    mp_size: int
    dp_size: int
    mp_idx: int
    dp_idx: int
    mp_comm: object
    dp_comm: object
    megatron: bool


def make_grid(
    comm, mp_size: int, dp_size: int, megatron: bool, inputs: int, hidden: int, classes: int
) -> Grid:
    """The grid of all ranks of `comm`. Raises ValueError where a layer cannot be cut so."""
    for is_fc1, in_dim, out_dim in ((True, inputs, hidden), (False, hidden, classes)):
        mp_idx, dp_idx, mp_comm, dp_comm, _, _ = func_impl.get_info(
            comm=comm,
            rank=comm.Get_rank(),
            mp_size=mp_size,
            dp_size=dp_size,
            is_fc1=is_fc1,
            is_megatron_mp=megatron,
            in_dim=in_dim,
            out_dim=out_dim,
        )
    # Both layers have the same groups; what is asked twice is whether each of them can be cut.
    return Grid(comm, mp_size, dp_size, mp_idx, dp_idx, mp_comm, dp_comm, megatron)


class Layer:
    """This rank's part of y = x W + b, with W (in, out): all rows of some columns, or some rows.

    whole_w, whole_b: of the whole layer, the same on every rank. So the ranks together hold one
    matrix, and can be compared with one process.
    """

    def __init__(self, whole_w: np.ndarray, whole_b: np.ndarray, grid: Grid, is_fc1: bool):
        self.grid, self.is_fc1 = grid, is_fc1
        self.cuts_inputs = grid.megatron and not is_fc1
        part = whole_w.shape[0 if self.cuts_inputs else 1] // grid.mp_size
        mine = slice(grid.mp_idx * part, (grid.mp_idx + 1) * part)
        self.w = (whole_w[mine] if self.cuts_inputs else whole_w[:, mine]).copy()
        self.b = (whole_b if self.cuts_inputs else whole_b[mine]).copy()

    def forward(self, x: np.ndarray) -> np.ndarray:
        """fc1: (B, in) -> (B, out/m). fc2: (B, in/m) -> (B, out)."""
        grid = self.grid
        if self.is_fc1:
            self.x = x
            return x @ self.w + self.b
        if grid.megatron:
            self.x = func_impl.megatron_collect_forward_input(x, grid.mp_comm, grid.mp_size)
            term = self.x @ self.w
            total = func_impl.megatron_collect_forward_output(term, grid.mp_comm, grid.mp_size)
            return total + self.b  # after the sum: in every term, it would be there mp_size times
        self.x = func_impl.naive_collect_forward_input(x, grid.mp_comm, grid.mp_size)
        part = self.x @ self.w + self.b
        return func_impl.naive_collect_forward_output(part, grid.mp_comm, grid.mp_size)

    def backward(self, grad: np.ndarray, needs_input: bool = True) -> np.ndarray | None:
        """The gradient of the output in, that of the input out; keeps grad_w and grad_b."""
        grid = self.grid
        way = "megatron" if grid.megatron else "naive"
        if not self.is_fc1:
            collect_output = getattr(func_impl, f"{way}_collect_backward_output")
            grad = collect_output(grad, grid.mp_idx, grid.mp_size)
        self.grad_w, self.grad_b = self.x.T @ grad, grad.sum(axis=0)
        if not needs_input:
            return None
        grad_x = grad @ self.w.T
        if self.is_fc1:  # every rank has one term: its columns' share of the gradient
            return sum_over(grad_x, grid.mp_comm)
        collect_x = getattr(func_impl, f"{way}_collect_backward_x")
        return collect_x(grad_x, grid.mp_comm, grid.mp_size)

    def step(self, rate: float) -> None:
        """Plain SGD, with the gradients of all copies of the model."""
        grads = func_impl.collect_weight_grad(self.grad_w, self.grad_b, self.grid.dp_comm)
        self.w -= rate * grads[0]
        self.b -= rate * grads[1]


sum_over = func_impl.sum_over  # what the input of a layer cut by columns needs in backward


class Mlp:
    """Two layers with a ReLU between: (B, 784) -> (B, 10). draw: see `draw_weights`."""

    def __init__(self, weights: list[np.ndarray], grid: Grid):
        w1, b1, w2, b2 = weights
        self.fc1, self.fc2 = Layer(w1, b1, grid, True), Layer(w2, b2, grid, False)

    def forward(self, x: np.ndarray) -> np.ndarray:
        self.hidden = self.fc1.forward(x)
        return self.fc2.forward(np.maximum(self.hidden, 0))

    def backward(self, grad: np.ndarray) -> None:
        """grad: of the loss, with respect to what forward gave. Images need no gradient."""
        grad = self.fc2.backward(grad)
        self.fc1.backward(grad * (self.hidden > 0), needs_input=False)

    def step(self, rate: float) -> None:
        self.fc1.step(rate)
        self.fc2.step(rate)


def draw_weights(
    seed: int, inputs: int = 784, hidden: int = 256, classes: int = 10, dtype=np.float32
) -> list[np.ndarray]:
    """W1, b1, W2, b2 of the whole network: the same for every layout (He et al. 2015)."""
    rng = np.random.default_rng(seed)
    sizes = ((inputs, hidden), (hidden, classes))
    weights = [rng.normal(0, np.sqrt(2 / ins), (ins, outs)) for ins, outs in sizes]
    w1, w2 = (weight.astype(dtype) for weight in weights)
    return [w1, np.zeros(hidden, dtype), w2, np.zeros(classes, dtype)]


def cross_entropy(logits: np.ndarray, labels: np.ndarray, rows: int) -> tuple[float, np.ndarray]:
    """The sum of the cross-entropy over these rows divided by `rows`, and its gradient.

    rows: of the whole batch, over all copies of the model. So gradients and losses of the copies
    add up to those of the mean over the whole batch.
    """
    shifted = logits - logits.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    here = np.arange(len(labels))
    grad = np.exp(logs)
    grad[here, labels] -= 1
    return float(-logs[here, labels].sum() / rows), grad / rows
