"""The executor: run any schedule for real, and record what happened.

    schedule = one_f_one_b(stages=3, micro_batches=8)
    pipeline = Pipeline(schedule, {rank: stage}, loss=cross_entropy)     on every rank
    outcome = pipeline.step(inputs, targets)                             gradients are in .grad

The same schedule can be simulated and drawn; `Pace(...).costs()` are the costs of a paced run.

Start at `executor`: it runs the actions of one rank, and fits on a page. `transport` moves its
messages, `split_backward` is the backward pass in one piece or in two halves, and `observers` holds
what only watches: trace, checks, counts. `batch` cuts the batch and weights the losses, and
`pipeline` puts everything together. `pace` lets stages take a chosen time, and `tied` is for a
weight that the first and the last stage share.
"""

from helpers.pipeline.batch import count_next_tokens, count_targets
from helpers.pipeline.pace import Pace, message_latency
from helpers.pipeline.pipeline import Outcome, Pipeline
from helpers.pipeline.tied import add_tied, make_tie

__all__ = [
    "Outcome",
    "Pace",
    "Pipeline",
    "add_tied",
    "count_next_tokens",
    "count_targets",
    "make_tie",
    "message_latency",
]
