"""Three profiles of time and memory.

honest   what a cluster of such machines would take, as far as so small a model can say
classic  the arithmetic of the CS 8803 SMR lab, to the last digit
steps    the rules of the LLM Training Puzzles (https://github.com/srush/LLM-Training-Puzzles)
"""

import os

from cluster.classic import Profile
from cluster.errors import PuzzleError
from cluster.facts import ACTIVATION, ACTIVATION_GRADIENT, GRADIENT, STATE, WEIGHT
from cluster.machine import read_machine

VARIABLE = "PUZZLES_PROFILE"  # the environment variable that names the profile


class Steps(Profile):
    """Time in steps: forward and backward 1 a sample, update 0.5, a collective 0.3, a message 0.2
    at each end, one end after the other. A layer has 512 x 512 weights, a sample 512 x 256."""

    name, hidden, block, ends = "steps", 512, 256, True
    unit, ends_in_turn = "steps", True

    def forward(self, samples):
        return float(samples)

    def update(self, held, parts):
        return 0.5

    def load(self, held, parts):
        return 0.0

    def collective(self, op, given, result, group):
        return 0.3

    def message(self, facts, source, target):
        return 0.2

    def best(self, layers, samples):
        return 2 * layers * samples / self.world_size


class Honest(Profile):
    """Bytes, Adam's states in float32, backward twice forward, nodes of 8, two lanes."""

    name, in_storage, overlap, room, ends = "honest", False, True, None, True
    memory_unit = "bytes"
    # float16 weights and gradients; a float32 copy of the weights and Adam's two moments.
    bytes_of = {STATE: 12, WEIGHT: 2, GRADIENT: 2, ACTIVATION: 2, ACTIVATION_GRADIENT: 2}

    def __init__(self, machine, world_size):
        super().__init__(machine, world_size)
        self.limit = machine.card

    def each(self, kind):
        return self.bytes_of[kind]

    def backward(self, samples):
        return 2 * self.forward(samples)  # two products of the same size: for x and for the weight

    def update(self, held, parts):
        # Read the gradient (2) and the states (12); write the states and the weight (12 + 2).
        parameters = self.hidden * self.hidden * held / parts
        return self._work(12 * parameters, 28 * parameters)

    def load(self, held, parts):
        return self.machine.host.seconds(14 * self.hidden * self.hidden * held / parts)

    def collective(self, op, given, result, group):
        """A ring: each rank passes on (n - 1) / n of the bytes, for an all-reduce twice."""
        n = len(group)
        if n == 1:
            return 0.0
        if op == "all_gather":
            size = sum(map(self.size, given))
        else:
            size = max(map(self.size, given))
        rounds = 2 if op == "all_reduce" else 1
        network = self._between(group)
        return rounds * (network.latency + (n - 1) / n * size / network.rate)

    def message(self, facts, source, target):
        return self.message_of(self.size(facts), source, target)

    def message_of(self, size, source, target):
        network = self._between((source, target))
        return network.latency + size / network.rate

    def _between(self, ranks):
        """The network inside a node if they share one, else the one that joins all nodes."""
        inside = self.machine.networks[0]
        if len({rank // inside.size for rank in ranks}) == 1:
            return inside
        return self.network if self.world_size > inside.size else self.machine.networks[-1]

    def best(self, layers, samples):
        return 1.5 * super().best(layers, samples)  # 2 products forward and backward make 3


PROFILES = {"honest": Honest, "classic": Profile, "steps": Steps}


def make_profile(name: str | None, machine: str | None, world_size: int) -> Profile:
    """The profile of this name; None: the one of PUZZLES_PROFILE, or honest. PuzzleError."""
    name = name or os.environ.get(VARIABLE) or "honest"
    if name not in PROFILES:
        raise PuzzleError(f"there is no profile {name!r}: choose honest, classic or steps")
    return PROFILES[name](read_machine(machine or "h100"), world_size)
