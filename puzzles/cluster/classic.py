"""What things cost, in the profile `classic`: the arithmetic of the CS 8803 SMR lab.

A layer is one matrix of hidden x hidden; a sample is one block of tokens.
"""

from functools import cache

from cluster.facts import ACTIVATION, ACTIVATION_GRADIENT, GRADIENT, STATE, WEIGHT, Facts
from cluster.machine import Machine

HIDDEN_SIZE, BLOCK_SIZE = 4096, 1024
PER_SAMPLE = (ACTIVATION, ACTIVATION_GRADIENT)


class Profile:
    """A profile; the class itself holds what the others share, and is `classic`.

    in_storage: memory is what lies in the five dictionaries, and what is used must lie there (else
        memory is all that is held anywhere).
    overlap: communication may go on beside computing.
    room: messages that a sender may leave unreceived before it must wait; None: any number.
    ends_in_turn: of a message, the receiver's end begins when the sender's is over (else: with it).
    ends: a step takes until its last event has ended (else: until it starts).
    limit: the memory of a card.
    """

    name = "classic"
    hidden, block, element = HIDDEN_SIZE, BLOCK_SIZE, 2
    in_storage, overlap, room, ends = True, False, 1, False
    ends_in_turn = False
    unit, memory_unit = "s", "elements"
    limit: float = float("inf")

    def __init__(self, machine: Machine, world_size: int):
        self.machine, self.world_size = machine, world_size
        self.network = machine.network(world_size)
        self._sizes = {
            kind: self.each(kind)
            * self.hidden
            * (self.block if kind in PER_SAMPLE else self.hidden)
            for kind in (WEIGHT, STATE, GRADIENT, *PER_SAMPLE)
        }
        # The same few questions are asked a hundred thousand times.
        for name in ("forward", "backward", "update", "load", "message_of"):
            setattr(self, name, cache(getattr(self, name)))

    # --- memory ---

    def size(self, facts: Facts) -> float:
        """The memory of a value, in `memory_unit`."""
        kind, _, samples, shards, parts, _ = facts
        if kind in PER_SAMPLE:
            return samples.bit_count() * self._sizes[kind]
        return len(shards) / parts * self._sizes[kind]

    def each(self, kind: str) -> float:
        """The memory of one parameter or element."""
        return 1

    # --- time ---

    def forward(self, samples: int) -> float:
        """One layer on so many samples: a matrix product, or its memory traffic if that is more."""
        tokens = samples * self.block
        flops = 2 * self.hidden * self.hidden * tokens
        moved = self.element * (self.hidden * self.hidden + 2 * tokens * self.hidden)
        return self._work(flops, moved)

    def backward(self, samples: int) -> float:
        return self.forward(samples)

    def update(self, held: int, parts: int) -> float:
        """The optimizer on `held` of `parts` shards of a layer: three arrays read or written."""
        parameters = self.hidden * (self.hidden * held // parts)
        return self._work(parameters, 3 * self.element * parameters)

    def load(self, held: int, parts: int) -> float:
        """Weights from the host's memory."""
        return self.machine.host.seconds(self.element * (self.hidden * self.hidden * held // parts))

    def collective(self, op: str, given: list[Facts], result: Facts, group: tuple) -> float:
        """A collective moves a whole layer, however it is cut, and over however few ranks."""
        parts = result.parts if result.kind == STATE else 1
        size = self.element * (self.hidden * self.hidden // parts)
        return self.network.seconds(op, size, self.world_size)

    def message(self, facts: Facts, source: int, target: int) -> float:
        """A message from one rank to another, which each end pays."""
        if facts.kind in PER_SAMPLE:
            size = facts.samples.bit_count() * self.hidden * self.block
        else:
            size = self.hidden * self.hidden // (facts.parts if facts.kind == STATE else 1)
        return self.message_of(self.element * size, source, target)

    def message_of(self, size: float, source: int, target: int) -> float:
        """A message of so many bytes."""
        return self.network.seconds("p2p", size, 2)

    def best(self, layers: int, samples: int) -> float:
        """The time of the whole step at the peak rate of every rank, without a wait."""
        flops = 4 * self.hidden * self.hidden * samples * self.block * layers
        return flops / (self.machine.flops.peak * self.world_size)

    def _work(self, flops: float, moved: float) -> float:
        return max(self.machine.flops.seconds(flops), self.machine.memory.seconds(moved))
