"""A cluster as a few numbers: devices, and two tiers of network; what messages take on them."""

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Interconnect:
    """One tier of the network, as seen by one device.

    bandwidth: bytes a second that it can send, while it receives as many.
    share: of it that arrives with large messages. latency: seconds of one step of a message.
    """

    bandwidth: float
    share: float
    latency: float

    @property
    def speed(self) -> float:
        """Bytes a second that arrive."""
        return self.bandwidth * self.share


@dataclass(frozen=True)
class Machine:
    """Nodes of equal devices.

    name: for titles. peak: matrix operations a second of one device in 16 bits, dense.
    memory: bytes of one device. memory_bandwidth: bytes a second of that memory.
    node: devices of one node. inside, between: the network inside a node, and between nodes.

    What a program gets out of it:
    matmul: share of the peak that endless matrix products reach.
    matmul_half: a dimension of a product (m, n or k) of this size costs as much again.
    memory_share: of the memory's bandwidth that element-by-element work reaches.
    launch: seconds that the host needs to start one kernel, all of Python around it included.
    straggle: seconds that a collective inside a layer waits for each further rank.
    step: seconds of a step that belong to no layer: reading data, clipping, writing the log.
    eight: how many times as fast matrix products of 8 bits are; they reach the same share.
    fused: share of the peak that fused attention reaches, whose scores never leave the chip; 0: it
        is as fast as other products of its sizes.
    hidden: share of the messages to experts by which a step gets shorter when they run beside
        computing, which they slow down.

    How the constants were set stands in docs/cluster_model.md.
    """

    name: str
    peak: float
    memory: float
    memory_bandwidth: float
    node: int
    inside: Interconnect
    between: Interconnect
    matmul: float
    matmul_half: float
    memory_share: float
    launch: float
    straggle: float
    step: float
    eight: float = 1.0
    fused: float = 0.0
    hidden: float = 1.0

    def slower(self, factor: float) -> "Machine":
        """The same machine with software that takes `factor` times as long for everything."""
        return replace(
            self,
            peak=self.peak / factor,
            memory_bandwidth=self.memory_bandwidth / factor,
            inside=_slower(self.inside, factor),
            between=_slower(self.between, factor),
            launch=self.launch * factor,
            straggle=self.straggle * factor,
            step=self.step * factor,
        )

    def matmul_seconds(
        self, m: float, n: float, k: float, count: float = 1, times: float = 1.0
    ) -> float:
        """Of `count` products (m, k) x (k, n) that start together, `times` as fast as in 16 bits.

        Whatever takes longer: the operations, or reading both factors and writing the product.
        """
        work = 2 * m * n * k * count / times
        rate = self.peak * self.matmul / (1 + self.matmul_half * (1 / m + 1 / n + 1 / k))
        return max(work / rate, self.memory_seconds(2 * count * (m * k + k * n + m * n)))

    def attention_seconds(self, m: float, n: float, k: float, count: float) -> float:
        """Of `count` products (m, k) x (k, n) in fused attention, which leaves out the half of them
        that the mask hides."""
        if not self.fused:
            return self.matmul_seconds(m, n, k, count) / 2
        return m * n * k * count / (self.peak * self.fused)

    def memory_seconds(self, moved: float) -> float:
        """Of work that does little but read and write `moved` bytes."""
        return moved / (self.memory_bandwidth * self.memory_share)


def _slower(link: Interconnect, factor: float) -> Interconnect:
    return Interconnect(link.bandwidth / factor, link.share, link.latency * factor)


def all_gather_seconds(machine: Machine, size: float, ranks: int, on_a_node: int) -> float:
    """Until all of `ranks` have `size` bytes; a reduce-scatter takes the same.

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


def all_reduce_seconds(machine: Machine, size: float, ranks: int, on_a_node: int) -> float:
    """Until all of `ranks` have the sum of `size` bytes of each: as two all-gathers."""
    return 2 * all_gather_seconds(machine, size, ranks, on_a_node)


def message_seconds(machine: Machine, size: float, inside: bool) -> float:
    """Of one message between two devices on one node (`inside`), or on two."""
    link = machine.inside if inside else machine.between
    return size / link.speed + link.latency
