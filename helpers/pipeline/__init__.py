"""The executor: run any schedule for real, and record what happened.

    schedule = one_f_one_b(stages=3, micro_batches=8)
    pipeline = Pipeline(schedule, {rank: stage}, loss=cross_entropy)     on every rank
    outcome = pipeline.step(inputs, targets)                             gradients are in .grad

The same schedule can be simulated and drawn: `run_paced(schedule, pace)` runs one step on real
processes that sleep where a model would compute, and `simulate(schedule, pace.costs())` predicts
it.

Start at `executor`: it runs the actions of one rank, and fits on a page. `transport` moves its
messages, `split_backward` is the backward pass in one piece or in two halves, and `observers` holds
what only watches: trace, checks, counts. `batch` cuts the batch and weights the losses, and
`pipeline` puts everything together. `pace` lets stages take a chosen time, and `paced` runs such a
step on processes of its own. `tied` is for a weight that the first and the last stage share.
"""

from helpers.pipeline.batch import count_targets
from helpers.pipeline.pace import Pace
from helpers.pipeline.paced import PacedStep, run_paced
from helpers.pipeline.pipeline import Outcome, Pipeline
from helpers.pipeline.tied import add_tied, make_tie
