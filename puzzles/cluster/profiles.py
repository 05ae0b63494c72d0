"""What things cost: four profiles of time and memory.

measured a transformer layer as the model in helpers/cluster counts it: matrix products, other
         kernels and two tiers of network, at the speeds that were fitted to measured iterations
bytes    FLOPs, bytes and latencies of such machines. It leaves out attention and every small
         kernel, so its MFU is far above that of any real run
classic  the arithmetic of the CS 8803 SMR lab, to the last digit: a layer is one matrix of hidden x
         hidden, and a sample is one block of tokens
steps    the rules of the LLM Training Puzzles (https://github.com/srush/LLM-Training-Puzzles)
"""

from collections import Counter
from dataclasses import replace
from functools import cache

from cluster.values import ACTIVATION, BLOCK_SIZE, CLASSES, HIDDEN_SIZE, SHARDED, STATE, Facts
from helpers.cluster import Layout, preset
from helpers.cluster.layer import layer_seconds
from helpers.cluster.machine import all_gather_seconds, message_seconds
from helpers.cluster.parts import UPDATE
from helpers.cost import flops, gpt, layer_activations, parameters

# An H100 and its node, as the lab's simulator knows them: a peak, and from which size on which
# share of it is reached. FLOP/s and FLOPs; bytes/s and bytes of the card's memory and the host's.
FLOPS = 1e15, ((128e9, 0.95), (16e9, 0.9), (1e9, 0.6), (0, 0.1))
MEMORY = 3072e9, ((100e6, 0.9), (10e6, 0.75), (1e6, 0.6), (0, 0.3))
HOST = 450e9, ((10e6, 0.9), (1e6, 0.7), (0, 0.3))
CARD = 80 * 2**30
NODE = 8  # ranks that NVLink joins
NVLINK, BETWEEN = (450e9 * 0.65, 1e-5), (50e9 * 0.9, 2e-5)  # bytes/s, and the latency in seconds


def seconds(amount: float, rates: tuple) -> float:
    """Return the time of so many FLOPs or bytes at once."""
    peak, steps = rates
    return amount / (peak * next(share for least, share in steps if amount >= least))


class Profile:
    """A profile; the class itself holds what the others share, and is `classic`.

    each: the memory of one parameter or element, of the kinds that take more than one.
    real: communication may go on beside computing, and memory is all that is held anywhere. Else a
        sender waits while a second message of its own lies unreceived, memory is what lies in the
        five dictionaries, and what is used must lie there.
    ends: a step takes until its last event has ended, and a message's two ends come one after the
        other (else: until it starts, and at once).
    limit: the memory of a card.
    """

    name, hidden, block = "classic", HIDDEN_SIZE, BLOCK_SIZE
    each: dict[str, int] = {}
    real, ends, unit, memory_unit, limit = False, False, "s", "elements", float("inf")

    def __init__(self, world_size: int):
        self.world_size = world_size
        self._sizes = {
            kind: self.each.get(kind, 1) * Facts(kind, 0, 1).elements(self.hidden, self.block)
            for kind in CLASSES
        }
        # The same few questions are asked a hundred thousand times.
        for name in ("forward", "backward", "update", "load"):
            setattr(self, name, cache(getattr(self, name)))

    def size(self, facts: Facts) -> float:
        """Return the memory of a value, in `memory_unit`."""
        return facts.elements(1, 1) * self._sizes[facts.kind]

    def forward(self, samples: int) -> float:
        """Return a matrix product's time, or that of its memory traffic if that is more."""
        tokens = samples * self.block
        flops = 2 * self.hidden * self.hidden * tokens
        return self._work(flops, 2 * (self.hidden * self.hidden + 2 * tokens * self.hidden))

    def backward(self, samples: int) -> float:
        return self.forward(samples)

    def update(self, held: int, parts: int) -> float:
        """Update `held` of `parts` shards of a layer: three arrays read or written."""
        parameters = self.hidden * (self.hidden * held // parts)
        return self._work(parameters, 3 * 2 * parameters)

    def load(self, parts: int) -> float:
        """Load a shard of the weights from the host's memory."""
        return seconds(2 * (self.hidden * self.hidden // parts), HOST)

    def network(self, ranks: tuple) -> tuple[float, float]:
        """Return the bytes a second between these ranks, and the latency."""
        return NVLINK if self.world_size <= NODE else BETWEEN

    def sent(self, facts: Facts) -> float:
        """Return the bytes that a message of it carries: a whole layer, however it is cut."""
        if facts.kind in SHARDED:
            return 2 * (self.hidden * self.hidden // (facts.parts if facts.kind == STATE else 1))
        return 2 * facts.elements()

    def message(self, facts: Facts, source: int, target: int) -> float:
        """Return what each end of a message pays."""
        rate, latency = self.network((source, target))
        return latency + self.sent(facts) / rate

    def collective(self, op: str, given: list[Facts], result: Facts, group: tuple) -> float:
        """Return what every rank of the group pays, however few they are."""
        return self.message(result, 0, 0)

    def best(self, layers: int, samples: int) -> float:
        """Return the time of the whole step at the peak rate of every rank, without a wait."""
        flops = 4 * self.hidden * self.hidden * samples * self.block * layers
        return flops / (FLOPS[0] * self.world_size)

    def _work(self, flops: float, moved: float) -> float:
        return max(seconds(flops, FLOPS), seconds(moved, MEMORY))


class Steps(Profile):
    """Time in steps: forward and backward 1 a sample, update 0.5, a collective 0.3, a message 0.2
    at each end, one end after the other. A layer has 512 x 512 weights, a sample 512 x 256."""

    name, hidden, block, ends, unit = "steps", 512, 256, True, "steps"

    def forward(self, samples):
        return float(samples)

    def update(self, held, parts):
        return 0.5

    def load(self, parts):
        return 0.0

    def collective(self, op, given, result, group):
        return 0.3

    def message(self, facts, source, target):
        return 0.2

    def best(self, layers, samples):
        return 2 * layers * samples / self.world_size


class Bytes(Profile):
    """Bytes, Adam's states in float32, backward twice forward, nodes of 8, two lanes."""

    name, real, ends, memory_unit, limit = "bytes", True, True, "bytes", CARD
    # float16 weights and gradients; a float32 copy of the weights and Adam's two moments.
    each = dict.fromkeys(CLASSES, 2) | {STATE: 12}

    def backward(self, samples):
        return 2 * self.forward(samples)  # two products of the same size: for x and for the weight

    def update(self, held, parts):
        # Read the gradient (2) and the states (12); write the states and the weight (12 + 2).
        parameters = self.hidden * self.hidden * held / parts
        return self._work(12 * parameters, 28 * parameters)

    def load(self, parts):
        return seconds(14 * self.hidden * self.hidden / parts, HOST)

    def network(self, ranks):
        return NVLINK if len({rank // NODE for rank in ranks}) == 1 else BETWEEN

    def sent(self, facts):
        return self.size(facts)

    def collective(self, op, given, result, group):
        """A ring: each rank passes on (n - 1) / n of the bytes, for an all-reduce twice."""
        if len(group) == 1:
            return 0.0
        size = (sum if op == "all_gather" else max)(map(self.size, given))
        return (2 if op == "all_reduce" else 1) * self._gather(size, group)

    def _gather(self, size: float, group: tuple) -> float:
        (rate, latency), n = self.network(group), len(group)
        return latency + (n - 1) / n * size / rate

    def best(self, layers, samples):
        return 1.5 * super().best(layers, samples)  # 2 products forward and backward make 3


class Measured(Bytes):
    """A layer of GPT-3's width (12,288 and 96 heads), sequences of 2,048 tokens as samples, and
    nodes of eight A100s of 80 GB that share 400 Gbit/s to the other nodes, as AWS's p4de does.

    Attention is fused. Nothing is recomputed unless the step itself calls forward again, so an
    activation counts with all that its layer keeps for the backward (34 bytes a value, arXiv
    2205.05198); a message carries only its 2. Weights and states lie on the cards already.
    """

    name, hidden, block = "measured", 12288, 2048
    model, card = gpt(hidden, layers=1, heads=96, sequence=block), preset("A100")
    card = replace(card, between=replace(card.between, bandwidth=400e9 / 8 / card.node))
    limit, numbers = card.memory, parameters(model).layer

    def __init__(self, world_size):
        super().__init__(world_size)
        self._sizes |= {kind: self.each[kind] * self.numbers for kind in SHARDED}
        kept = layer_activations(self.model, 1, self.block, recompute="selective")
        self._sizes[ACTIVATION] = kept

    def forward(self, samples, which=0):
        layout = Layout(samples, self.block, micro_batch=samples, recompute="none", flash=True)
        return layer_seconds(self.model, layout, self.card)[which].total

    def backward(self, samples):
        return self.forward(samples, 1)

    def update(self, held, parts):
        return self.card.memory_seconds(UPDATE * self.numbers * held / parts)

    def load(self, parts):
        return 0.0

    def _gather(self, size, group):
        near = min(Counter(rank // self.card.node for rank in group).values())
        return all_gather_seconds(self.card, size, len(group), near)

    def message(self, facts, source, target):
        plain = facts.kind == ACTIVATION
        size = 2 * facts.elements(self.hidden, self.block) if plain else self.size(facts)
        node = self.card.node
        return message_seconds(self.card, size, source // node == target // node)

    def best(self, layers, samples):
        layer = 3 * flops(self.model, samples, self.block).layer
        return layers * layer / (self.card.peak * self.world_size)


PROFILES = {"bytes": Bytes, "classic": Profile, "measured": Measured, "steps": Steps}
