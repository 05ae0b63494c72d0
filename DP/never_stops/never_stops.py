"""Replicas that are killed and frozen while they train, and training that goes on without them.

    python never_stops.py                       four replicas, 40 steps, six faults
    python never_stops.py --seed 3 --replicas 6

At the end the weights of all replicas are compared with one device that took exactly the batches
which counted.
"""

import argparse
import functools
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from crew import Crew
from lighthouse import Lighthouse
from replica import run
from rules import State
from work import Work, on_one_device


@dataclass
class Outcome:
    """What a run has left.

    weights: {replica: its weights at the end}. counted: for each step {replica: place}.
    said: {replica: the sentence with which it was refused}.
    """

    weights: dict
    counted: list
    losses: list
    said: dict


def survive(replicas, steps, faults=(), silence=5.0, pace=0.0, holds=None):
    """Train while faults happen, for so many steps or until the last fault is over.

    Args:
        faults: (step, action, replica) in order, each from this step on: "kill", "start", "freeze"
            or "thaw" a replica, or wait until it's "back" (its gradient counts again), or until it
            says that it's doing something, such as "healing". A fourth word after "start": where
            the replica stays for good.
        silence: seconds after which a frozen replica is no longer waited for.
        pace: seconds that a gradient takes at least.
        holds: {replica: where one of the first processes stays for good}, in a list.
    """
    work, holds = functools.partial(Work, replicas), holds or {}
    lighthouse = Lighthouse(replicas, silence=silence)
    with tempfile.TemporaryDirectory() as folder:
        with Crew(run, lighthouse.address, work, folder, pace) as crew:
            wait_for = functools.partial(crew.wait_for, check=lighthouse.server.check)
            for replica in range(replicas):
                crew.start(replica, hold=holds.get(replica, ()))
            for step, action, replica, *hold in faults:
                wait_for(lambda step=step: lighthouse.closed >= step, f"step {step}")
                if action == "start":
                    crew.start(replica, hold=hold)
                elif action in ("kill", "freeze", "thaw"):
                    getattr(crew, action)(replica)
                elif action == "back":
                    wait_for(lambda r=replica: r in lighthouse.counted[-1], "its return")
                else:
                    wait_for(lambda a=action, r=replica: lighthouse.doing(r) == a, action)
            lighthouse.last = max(steps, lighthouse.closed + 2)
            wait_for(lambda: finished(lighthouse, crew), "the end")
            lighthouse.stop()
            ends = {int(p.stem): np.load(p)["weights"] for p in Path(folder).glob("*.npz")}
            said = {int(p.stem): p.read_text() for p in Path(folder).glob("*.txt")}
    return Outcome(ends, lighthouse.counted, lighthouse.losses, said)


def finished(lighthouse, crew):
    """Return whether every process that is left has all steps or has been refused."""
    alive = crew.alive()
    return all(lighthouse.doing(r) == "done" for r in alive) and (
        lighthouse.closed >= lighthouse.last or not alive
    )


def drawn(seed, replicas, steps, each=6):
    """Draw faults: every so many steps a replica is killed or frozen, and comes back later."""
    random, faults = Random(seed), []
    for step in range(each // 2, steps - each, each):
        replica = random.randrange(replicas)
        away, again = random.choice([("kill", "start"), ("freeze", "thaw")])
        faults += [(step, away, replica), (step + 2, again, replica), (step + 2, "back", replica)]
    return faults


def distance(outcome, replicas):
    """Return how far the replicas' weights are from each other, and from one device's.

    Both are the largest difference of a weight.
    """
    alone = on_one_device(Work(replicas), outcome.counted, State.new).weights
    ends = list(outcome.weights.values())
    apart = max(np.abs(ends[0] - weights).max() for weights in ends)
    return apart, np.abs(ends[0] - alone).max()


def main():
    flags = argparse.ArgumentParser(description="Replicas that are killed and frozen, and go on.")
    for name, default in {"replicas": 4, "steps": 40, "seed": 0}.items():
        flags.add_argument(f"--{name}", type=int, default=default)
    options = flags.parse_args()
    faults = drawn(options.seed, options.replicas, options.steps)
    outcome = survive(options.replicas, options.steps, faults, silence=1.0, pace=0.2)
    for step, (places, loss) in enumerate(zip(outcome.counted, outcome.losses, strict=True)):
        happened = ", ".join(f"{action} {r}" for at, action, r in faults if at == step)
        print(f"step {step:3}  loss {loss:.3f}  counted {sorted(places)}  {happened}")
    apart, away = distance(outcome, options.replicas)
    print(f"the replicas differ by {apart:.1g}, and from one device by {away:.1g}")


if __name__ == "__main__":
    main()
