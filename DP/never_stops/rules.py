"""The rules by which training goes on; none of them knows about processes."""

import math
from dataclasses import dataclass, field

import numpy as np

RATE, BETAS, EPSILON = 3e-3, (0.9, 0.99), 1e-8


@dataclass
class State:
    """All that training goes on from.

    weights, first, second: the weights and Adam's two means, each as one vector.
    step: the next one. places: {replica: how many of its batches have been counted}.
    """

    weights: np.ndarray
    first: np.ndarray
    second: np.ndarray
    step: int = 0
    places: dict = field(default_factory=dict)

    @classmethod
    def new(cls, weights):
        return cls(weights.copy(), np.zeros_like(weights), np.zeros_like(weights))

    def apply(self, mean, counted):
        """Take one step of Adam with a mean gradient, and note which batches it came from."""
        self.step += 1
        self.first = BETAS[0] * self.first + (1 - BETAS[0]) * mean
        self.second = BETAS[1] * self.second + (1 - BETAS[1]) * mean**2
        first = self.first / (1 - BETAS[0] ** self.step)
        second = self.second / (1 - BETAS[1] ** self.step)
        self.weights = self.weights - RATE * first / (np.sqrt(second) + EPSILON)
        for replica in counted:
            self.places[int(replica)] = self.places.get(int(replica), 0) + 1


def mean_over_present(sent):
    """Return the mean gradient over the replicas that are present.

    Each token counts once, whoever has read it: a replica with twice as many has twice the weight.

    sent: {replica: {"tokens": how many its gradient is the mean over, "gradient": a vector}}, with
        the replicas that have sent something, and no others. Leave the vectors as they are.
    """
    tokens = sum(one["tokens"] for one in sent.values())
    return sum(one["tokens"] / tokens * one["gradient"] for one in sent.values())


def heal(peers, fetch, missed):
    """Return the `State` with which a replica that has lost everything goes on.

    Take the state of a peer; if that peer dies meanwhile, of the next one, and when no peer is left
    in the list, ask for a new list. The others go on while it travels, so take the steps that it
    has missed by then, too.

    Args:
        peers: peers() returns a list of peers that hold the latest state, best first. It raises an
            error if nobody will ever hold it again: let that error through.
        fetch: fetch(peer) returns the fields of its state, as a dictionary with their names. It
            raises OSError if the peer dies before all of them have arrived.
        missed: missed(step) returns what `State.apply` takes for this step, (mean, counted), or
            None if the others are no further than that either.
    """
    # BEGIN SOLUTION NS-2
    while True:
        for peer in peers():
            try:
                state = State(**fetch(peer))
            except OSError:
                continue
            while (step := missed(state.step)) is not None:
                state.apply(*step)
            return state
    # END SOLUTION


def checkpoint_interval(save, between):
    """Return (seconds from one checkpoint to the next, share of the time that is lost).

    The interval is the one that loses least, to first order: a save takes `save` seconds once in
    every interval, and each failure, one in `between` seconds, costs half an interval on average.
    """
    every = math.sqrt(2 * save * between)
    return every, save / every + every / (2 * between)
