"""What messages take on two tiers of network."""

import math

from helpers.cluster.machine import Machine


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


def all_to_all_seconds(machine: Machine, size: float, ranks: int, on_a_node: int) -> float:
    """Until each of `ranks` has sent every other one its part of `size` bytes.

    What stays on the node and what leaves it travel side by side, over networks of their own.
    """
    if ranks == 1:
        return 0.0
    inside, between = machine.inside, machine.between
    near = size * (on_a_node - 1) / ranks / inside.speed + inside.latency
    if ranks == on_a_node:
        return near
    return max(near, size * (ranks - on_a_node) / ranks / between.speed + between.latency)


def message_seconds(machine: Machine, size: float, inside: bool) -> float:
    """Of one message between two devices on one node (`inside`), or on two."""
    link = machine.inside if inside else machine.between
    return size / link.speed + link.latency
