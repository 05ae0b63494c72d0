"""A cluster that is simulated: a student's training step runs on it, rank by rank.

    models = run(step, 4, 16, 2048)      `step(model)` on 4 ranks, 16 layers, 2048 samples
    print(outcome(models))               is it right, and what did it take?
    trace_of(models)                     for helpers.timeline, helpers.draw and Perfetto

There is no scheduler that could be unfair: each rank has a clock of its own, and ranks meet only
in messages and collectives, which are matched by their order. So a step gets the same times in
whatever order Python runs the ranks (a Kahn process network: G. Kahn, 1974).

Files, from the ground up: `values`; `profiles` (what things cost); `communication`; `ranks` (their
books, and the cluster); `model` (what a step holds in its hands, and `run`); `outcome`; `trace`.
"""

from cluster.model import Group, Model, run
from cluster.outcome import Outcome, outcome
from cluster.ranks import Dist, Event
from cluster.trace import trace_of
from cluster.values import PuzzleError
