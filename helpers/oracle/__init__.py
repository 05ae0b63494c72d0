"""Is this training step the one that a single device would take? If not, which mistake was made?

A falling loss proves little, because training forgives wrong gradients for a long time. So compare
the step itself, tensor by tensor. Take one device's step on all micro-batches, run yours,
and judge:

    def loss_of(model, batch):                      # the mean loss, and how many tokens it is of
        inputs, targets = batch
        return cross_entropy(model(inputs), targets), targets.numel()

    right = one_step(model, loss_of, micro_batches, lambda ps: torch.optim.SGD(ps, lr=0.5))

    before = snapshot(model)                        # on every rank: before its step …
    train_one_step(model, optimizer)                # … your code …
    step = between(before, snapshot(model))         # … and after it; send it to where you judge

    judge(right, steps)                             # the judgment: a sentence and a table

`gather(parts, names)` makes one Step of the stages of a pipeline; `recording(at=0)` keeps a step of
any training, as it is; `python -m helpers.oracle SINGLE PARALLEL` compares two scripts that way. A
rank is any participant that holds the whole model: two replicas of three stages are two ranks.

Judge with SGD: Adam divides each gradient by its own size, so gradients that are all three times
too large lead to nearly the same weights. Numbers are compared relative to the largest entry of
their tensor: 1e-5 for float32, 1e-12 for float64, what another order of the same additions may
change.
"""

from helpers.oracle.compare import TOLERANCES, Difference, common_factor, differences
from helpers.oracle.judge import Comparison, Judgment, judge
from helpers.oracle.record import CannotRecord, Recording, recording
from helpers.oracle.step import GatherError, Step, between, gather, one_step, snapshot
