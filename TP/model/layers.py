"""A fully connected layer, cut for a model-parallel group, and the network of two of them.

Forward and backward are computed here; what the ranks tell each other stands in `func_impl.py`.
"""

from collections import namedtuple

import numpy as np
from model import func_impl
from model.func_impl import sum_over

# The place of a rank: its groups, as of `get_info`, and how its layers are cut.
Grid = namedtuple("Grid", "mp_size dp_size megatron mp_idx dp_idx mp_comm dp_comm")


def make_grid(comm, mp_size, dp_size, megatron, inputs, hidden, classes):
    """Return the grid of all ranks of `comm`. Raises ValueError if a layer cannot be cut so."""
    facts = {"comm": comm, "rank": comm.Get_rank(), "mp_size": mp_size, "dp_size": dp_size}
    # Both layers have the same groups; what is asked twice is whether each of them can be cut.
    for is_fc1, in_dim, out_dim in ((True, inputs, hidden), (False, hidden, classes)):
        facts |= {"is_fc1": is_fc1, "is_megatron_mp": megatron}
        place = func_impl.get_info(**facts, in_dim=in_dim, out_dim=out_dim)
    return Grid(mp_size, dp_size, megatron, *place[:4])


class Layer:
    """This rank's part of y = x W + b, with W (in, out): all rows of some columns, or some rows.

    whole_w, whole_b: of the whole layer, the same on every rank. So the ranks together hold one
    matrix, and can be compared with one process.
    """

    def __init__(self, whole_w, whole_b, grid, is_fc1):
        self.grid, self.is_fc1 = grid, is_fc1
        self.cuts_inputs = grid.megatron and not is_fc1
        part = whole_w.shape[0 if self.cuts_inputs else 1] // grid.mp_size
        mine = slice(grid.mp_idx * part, (grid.mp_idx + 1) * part)
        self.w = (whole_w[mine] if self.cuts_inputs else whole_w[:, mine]).copy()
        self.b = (whole_b if self.cuts_inputs else whole_b[mine]).copy()

    def collect(self, what, **given):
        """Call the function of `func_impl` for this way to cut."""
        way = "megatron" if self.grid.megatron else "naive"
        function = getattr(func_impl, f"{way}_collect_{what}")
        return function(**given, mp_size=self.grid.mp_size)

    def forward(self, x):
        """fc1: (B, in) -> (B, out/m). fc2: (B, in/m) -> (B, out)."""
        group = self.grid.mp_comm
        self.x = x if self.is_fc1 else self.collect("forward_input", x=x, mp_comm=group)
        out = self.x @ self.w
        if self.cuts_inputs:  # the bias comes after the sum: in every term, it would be m times
            return self.collect("forward_output", out=out, mp_comm=group) + self.b
        out = out + self.b
        return out if self.is_fc1 else self.collect("forward_output", out=out, mp_comm=group)

    def backward(self, grad, needs_input=True):
        """The gradient of the output in, that of the input out; keeps grad_w and grad_b."""
        grid = self.grid
        if not self.is_fc1:
            grad = self.collect("backward_output", output_grad=grad, mp_group_idx=grid.mp_idx)
        self.grad_w, self.grad_b = self.x.T @ grad, grad.sum(axis=0)
        if not needs_input:
            return None
        grad_x = grad @ self.w.T
        if self.is_fc1:  # every rank has one term: its columns' share of the gradient
            return sum_over(grad_x, grid.mp_comm)
        return self.collect("backward_x", grad_x=grad_x, mp_comm=grid.mp_comm)

    def step(self, rate):
        """Plain SGD, with the gradients of all copies of the model."""
        grads = func_impl.collect_weight_grad(self.grad_w, self.grad_b, self.grid.dp_comm)
        self.w -= rate * grads[0]
        self.b -= rate * grads[1]


class Mlp:
    """Two layers with a ReLU between: (B, 784) -> (B, 10). weights: of `draw_weights`."""

    def __init__(self, weights, grid):
        w1, b1, w2, b2 = weights
        self.fc1, self.fc2 = Layer(w1, b1, grid, True), Layer(w2, b2, grid, False)

    def forward(self, x):
        self.hidden = self.fc1.forward(x)
        return self.fc2.forward(np.maximum(self.hidden, 0))

    def backward(self, grad):
        """grad: of the loss, with respect to what forward gave. Images need no gradient."""
        grad = self.fc2.backward(grad)
        self.fc1.backward(grad * (self.hidden > 0), needs_input=False)

    def step(self, rate):
        self.fc1.step(rate)
        self.fc2.step(rate)


def draw_weights(seed, inputs=784, hidden=256, classes=10, dtype=np.float32):
    """Return W1, b1, W2, b2 of the whole network: the same for every layout (He et al. 2015)."""
    rng, weights = np.random.default_rng(seed), []
    for ins, outs in ((inputs, hidden), (hidden, classes)):
        weight = rng.normal(0, np.sqrt(2 / ins), (ins, outs))
        weights += [weight.astype(dtype), np.zeros(outs, dtype)]
    return weights


def cross_entropy(logits, labels, rows):
    """Return the sum of the cross-entropy over these rows divided by `rows`, and its gradient.

    rows: of the whole batch, over all copies of the model. So gradients and losses of the copies
    add up to those of the mean over the whole batch.
    """
    shifted = logits - logits.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    here = np.arange(len(labels))
    grad = np.exp(logs)
    grad[here, labels] -= 1
    return float(-logs[here, labels].sum() / rows), grad / rows
