"""Machines that are known by name.

Peaks and bandwidths are the makers' figures for 16 bits without sparsity. What a program gets out
of them was set on measured iterations of A100s, see docs/cluster_model.md, and is carried over to
newer devices. Three constants are theirs, set on runs on H100s: the shares of the peak that matrix
products and fused attention reach, and the share of messages to experts that computing hides; the
A100 takes over the last two. `LAPTOP` is a guess.
"""

from dataclasses import replace

from helpers.cluster.machine import Interconnect, Machine

A100 = Machine(
    name="A100",
    peak=312e12,
    memory=80e9,
    memory_bandwidth=2.039e12,
    node=8,
    inside=Interconnect(300e9, share=0.824, latency=9.3e-6),
    between=Interconnect(25e9, share=0.729, latency=17.7e-6),
    matmul=0.894,
    matmul_half=219,
    memory_share=0.821,
    launch=44e-6,
    straggle=18.8e-6,
    step=2.4e-3,
    fused=0.482,
    hidden=0.341,
)
# The A100s of the calibration: four network cards of 25 GB/s for eight devices.
A100_HALF = replace(A100, name="A100-4NIC", between=replace(A100.between, bandwidth=12.5e9))


MATMUL_H100 = 0.667  # four models in 16 bits, from Llama 3 405B to Mixtral: docs/cluster_model.md


def _newer(name: str, peak: float, memory: float, bandwidth: float, inside: float) -> Machine:
    return replace(
        A100,
        name=name,
        peak=peak,
        memory=memory,
        memory_bandwidth=bandwidth,
        matmul=MATMUL_H100,
        eight=2.0,
        inside=replace(A100.inside, bandwidth=inside),
        between=replace(A100.between, bandwidth=50e9),
    )


H100 = _newer("H100", 989e12, 80e9, 3.35e12, 450e9)
# Sold where NVLink may not have more than 400 GB/s, both directions together.
H800 = _newer("H800", 989e12, 80e9, 3.35e12, 200e9)
H200 = _newer("H200", 989e12, 141e9, 4.8e12, 450e9)
B200 = _newer("B200", 2250e12, 180e9, 8e12, 900e9)
LAPTOP = Machine(
    name="laptop",
    peak=0.4e12,
    memory=4e9,
    memory_bandwidth=20e9,
    node=4,
    inside=Interconnect(3.8e9, share=1.0, latency=44e-6),
    between=Interconnect(0.1e9, share=0.9, latency=1e-3),
    matmul=0.8,
    matmul_half=40,
    memory_share=0.8,
    launch=10e-6,
    straggle=0.0,
    step=1e-3,
)
PRESETS = {machine.name: machine for machine in (A100, A100_HALF, H100, H800, H200, B200, LAPTOP)}


def preset(name: str) -> Machine:
    """The machine of this name; ValueError, one sentence, if there is none."""
    if name not in PRESETS:
        raise ValueError(f"there is no machine {name!r}: choose one of {', '.join(PRESETS)}")
    return PRESETS[name]
