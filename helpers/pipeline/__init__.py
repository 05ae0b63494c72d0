"""The executor: any schedule, run for real.

    schedule = one_f_one_b(stages=3, micro_batches=8)
    pipeline = Pipeline(schedule, {rank: stage}, loss=cross_entropy)     on every rank
    outcome = pipeline.step(inputs, targets)                             gradients are in .grad

The same schedule can be simulated and drawn: `run_paced(schedule, pace)` runs one step on real
processes that sleep where a model would compute, and `simulate(schedule, pace.costs())` predicts
it.

Files, from the ground up: `batch` cuts and counts; `backward` is the backward pass, whole or in two
halves; `memory` counts what is kept; `pace` lets stages take a chosen time, `latency` measures what
a message costs then; `peers` knows the other ranks; `mail` sends and receives; `step` does the
actions of one step; `pipeline` puts them together. `tied` is for a weight that the first and the
last stage share.
"""

from helpers.pipeline.batch import count_next_tokens, count_targets
from helpers.pipeline.latency import message_latency
from helpers.pipeline.pace import Pace
from helpers.pipeline.paced import PacedStep, run_paced
from helpers.pipeline.pipeline import Outcome, Pipeline
from helpers.pipeline.tied import add_tied, make_tie

__all__ = [
    "Outcome",
    "Pace",
    "PacedStep",
    "Pipeline",
    "add_tied",
    "count_next_tokens",
    "count_targets",
    "make_tie",
    "message_latency",
    "run_paced",
]
