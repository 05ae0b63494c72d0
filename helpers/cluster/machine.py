"""A cluster as a few numbers: devices, and two tiers of network; what messages take on them.

Peaks and bandwidths are those of `helpers.cost.rates`. What a program gets out of them was set on
measured iterations of A100s, and is carried over to newer devices but for three constants, which
were set on runs on H100s: docs/cluster_model.md.
"""

import math
from dataclasses import dataclass, replace

from helpers.cost.rates import RATES


@dataclass(frozen=True)
class Interconnect:
    """One tier of the network, as seen by one device."""

    bandwidth: float  # bytes a second that it can send, while it receives as many
    share: float  # of it that arrives with large messages
    latency: float  # seconds of one step of a message

    @property
    def speed(self) -> float:
        return self.bandwidth * self.share


@dataclass(frozen=True)
class Machine:
    """Nodes of equal devices; and, from `matmul` on, what a program gets out of them."""

    name: str
    peak: float  # FLOP/s of one device in 16 bits, dense
    memory: float  # bytes of one device
    memory_bandwidth: float
    node: int  # devices of one
    inside: Interconnect  # a node
    between: Interconnect  # nodes
    matmul: float  # share of the peak that endless matrix products reach
    eight: float  # how many times as fast those of 8 bits are; they reach the same share
    matmul_half: float = 219  # a dimension of a product of this size costs as much again
    memory_share: float = 0.821  # of its bandwidth that element-by-element work reaches
    launch: float = 44e-6  # seconds of the host for one kernel, all of Python around it included
    straggle: float = 18.8e-6  # seconds that a layer's collective waits for each further rank
    step: float = 2.7e-3  # seconds in no layer: reading data, clipping, writing the log
    fused: float = 0.493  # share of the peak that fused attention reaches
    # Share of the messages to experts by which a step gets shorter when they run beside computing,
    # which they slow down.
    hidden: float = 0.359

    def matmul_seconds(
        self, m: float, n: float, k: float, count: float = 1, times: float = 1.0
    ) -> float:
        """Of `count` products (m, k) x (k, n) that start together, `times` as fast as in 16 bits:
        the operations, or reading both factors and writing the product."""
        work = 2 * m * n * k * count / times
        rate = self.peak * self.matmul / (1 + self.matmul_half * (1 / m + 1 / n + 1 / k))
        return max(work / rate, self.memory_seconds(2 * count * (m * k + k * n + m * n)))

    def attention_seconds(self, m: float, n: float, k: float, count: float) -> float:
        """Of `count` products (m, k) x (k, n) in fused attention, which leaves out the half of them
        that the mask hides."""
        return m * n * k * count / (self.peak * self.fused)

    def memory_seconds(self, moved: float) -> float:
        return moved / (self.memory_bandwidth * self.memory_share)


def all_gather_seconds(machine: Machine, size: float, ranks: int, on_a_node: int) -> float:
    """Until all of `ranks` have `size` bytes; a reduce-scatter takes the same, an all-reduce both.

    on_a_node: how many of them are on one node. Each rank sends (n-1)/n of the bytes. Between
    nodes the ranks of a node send side by side, each over its own part of the node's network.
    """
    if ranks == 1:
        return 0.0
    speed, latency = machine.inside.speed, machine.inside.latency
    if ranks > on_a_node:
        speed = min(speed, on_a_node * machine.between.speed)
        latency = machine.between.latency
    return size * (ranks - 1) / ranks / speed + latency * math.log2(ranks)


def message_seconds(machine: Machine, size: float, inside: bool) -> float:
    """Of one message between two devices on one node (`inside`), or on two."""
    link = machine.inside if inside else machine.between
    return size / link.speed + link.latency


def _machine(name: str, matmul: float) -> Machine:
    rates = RATES[name]
    inside = Interconnect(rates.inside, share=0.824, latency=9.3e-6)
    between = Interconnect(rates.between, share=0.729, latency=17.7e-6)
    sizes = rates.peak, rates.room, rates.memory, 8
    return Machine(name, *sizes, inside, between, matmul, rates.eight / rates.peak)


A100 = _machine("A100", matmul=0.894)
# The A100s of the calibration: four network cards of 25 GB/s for eight devices.
A100_HALF = replace(A100, name="A100-4NIC", between=replace(A100.between, bandwidth=12.5e9))
H100, H800, H200, B200 = (_machine(name, matmul=0.596) for name in ("H100", "H800", "H200", "B200"))
PRESETS = {machine.name: machine for machine in (A100, A100_HALF, H100, H800, H200, B200)}


def preset(name: str) -> Machine:
    if name not in PRESETS:
        raise ValueError(f"there is no machine {name!r}: choose one of {', '.join(PRESETS)}")
    return PRESETS[name]
