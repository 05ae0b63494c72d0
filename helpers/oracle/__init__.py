"""Is this training step the one that a single device would take? If not: which mistake was made?

A loss that falls proves little: training forgives wrong gradients for a long time. So compare the
step itself, tensor by tensor. Take one device's step on all micro-batches, run yours, and judge:

    def loss_of(model, batch):                      # the mean loss, and how many tokens it is of
        inputs, targets = batch
        return cross_entropy(model(inputs), targets), targets.numel()

    right = one_step(model, loss_of, micro_batches, lambda ps: torch.optim.SGD(ps, lr=0.5))

    before = snapshot(model)                        # on every rank: before its step …
    train_one_step(model, optimizer)                # … your code …
    step = between(before, snapshot(model))         # … and after it; send it to where you judge

    judge(right, steps)                             # the verdict: a sentence and a table

What to call:

    one_step(model, loss_of, micro_batches, make_optimizer)   one device's Step
    snapshot(model), between(before, after)                   a rank's Step
    gather(parts, names)                                      stages of a pipeline: one Step of them
    judge(one_device, ranks)                                  the Verdict: ok, mistake, worst, table
    averaging_mistake(before, after)                          was it the mean over the ranks?
    differences, common_factor, explain                       tensors against tensors, by name

A rank is here whoever holds the whole model. Two replicas of three stages are two ranks: gather the
three steps of each. Which micro-batch was whose is `shares`.

Judge with SGD. Adam divides each gradient by its own size: gradients that are all three times too
large give nearly the same weights. Numbers are compared relative to the largest entry of their
tensor: 1e-5 for float32, 1e-12 for float64 (`TOLERANCES`), which is what another order of the same
additions may change.

Files, from the ground up: `compare` and `tensors` do arithmetic by name; `step` and `gather` hold
the facts; `align` gives both sides one set of names; `case` and `counts` ask questions of them;
`mistakes` is the list of what can go wrong; `verdict` shows what `judge` found. `averaging` is a
smaller judge, of one averaging alone. All are pure: the caller runs both sides.
"""

from helpers.oracle.averaging import averaging_mistake
from helpers.oracle.compare import TOLERANCES, Difference, common_factor, differences, explain
from helpers.oracle.gather import GatherError, gather
from helpers.oracle.judge import judge
from helpers.oracle.step import Part, Snapshot, Step, between, one_step, snapshot
from helpers.oracle.verdict import Row, Verdict

__all__ = [
    "TOLERANCES",
    "Difference",
    "GatherError",
    "Part",
    "Row",
    "Snapshot",
    "Step",
    "Verdict",
    "averaging_mistake",
    "between",
    "common_factor",
    "differences",
    "explain",
    "gather",
    "judge",
    "one_step",
    "snapshot",
]
