"""Replicas that are killed and frozen while they train, and training that goes on without them.

    python never_stops.py             four replicas, of which one is killed and another is frozen

At the end the weights of all replicas are compared with one device that took exactly the batches
which counted.
"""

import functools
from dataclasses import dataclass

import numpy as np
from crew import Crew
from lighthouse import Lighthouse
from replica import run
from work import Work, on_one_device

FAULTS = [(3, "kill", 1), (5, "freeze", 2), (6, "start", 1), (6, "back", 1), (9, "thaw", 2),
          (9, "back", 2)]  # fmt: skip


@dataclass
class Outcome:
    """What a run has left."""

    weights: dict  # {replica: its weights at the end}
    counted: list  # for each step {replica: place}
    losses: list
    said: dict  # {replica: the sentence with which it was refused}


def survive(replicas, steps, faults=(), silence=5.0, pace=0.0):
    """Train while faults happen, for so many steps or until the last fault is over.

    faults: (step, action, replica) in order, each from this step on: "kill", "start", "freeze" or
    "thaw" a replica, or wait until it's "back" (its gradient counts again). silence: seconds after
    which a frozen replica is no longer waited for. pace: seconds that a gradient takes at least.
    """
    lighthouse = Lighthouse(replicas, silence=silence)
    with Crew(run, lighthouse.address, functools.partial(Work, replicas), pace) as crew:
        wait_for = functools.partial(crew.wait_for, check=lighthouse.server.check)
        for replica in range(replicas):
            crew.start(replica)
        for step, action, replica in faults:
            wait_for(lambda step=step: lighthouse.closed >= step, f"step {step}")
            if action == "back":
                wait_for(lambda r=replica: r in lighthouse.counted[-1], "its return")
            else:
                getattr(crew, action)(replica)
        lighthouse.last = max(steps, lighthouse.closed + 2)
        wait_for(lambda: finished(lighthouse, crew), "the end")
        lighthouse.stop()
        left = crew.results()
    ends = {replica: found for replica, found in left.items() if isinstance(found, np.ndarray)}
    said = {replica: found for replica, found in left.items() if isinstance(found, str)}
    return Outcome(ends, lighthouse.counted, lighthouse.losses, said)


def finished(lighthouse, crew):
    """Return whether every process that is left has all steps or has been refused."""
    alive = crew.alive()
    return all(map(lighthouse.done, alive)) and (lighthouse.closed >= lighthouse.last or not alive)


def distance(outcome, replicas):
    """Return the largest difference of a weight among the replicas, and from one device."""
    alone = on_one_device(Work(replicas), outcome.counted)
    ends = list(outcome.weights.values())
    apart = max(np.abs(ends[0] - weights).max() for weights in ends)
    return apart, np.abs(ends[0] - alone).max()


if __name__ == "__main__":
    outcome = survive(4, 14, FAULTS, silence=1.0, pace=0.1)
    for step, (places, loss) in enumerate(zip(outcome.counted, outcome.losses, strict=True)):
        now = ", ".join(f"{what} {r}" for at, what, r in FAULTS if at == step and what != "back")
        print(f"step {step:3}  loss {loss:.3f}  counted {sorted(places)}  {now}")
    apart, away = distance(outcome, 4)
    print(f"the replicas differ by {apart:.1g}, and from one device by {away:.1g}")
