"""How fast devices are: one name for each number, which every lesson uses.

Peaks are the makers' figures without sparsity. Reached is about what Llama 3 405B (arXiv
2407.21783, table 4) and DeepSeek-V3 (arXiv 2505.09343) did on H100 and H800, and what 1T
parameters did on A100s (arXiv 2104.04473, table 1); on newer devices the same share of the peak. A
node has one network card for each device.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rates:
    """Of one device."""

    peak: float  # FLOP/s in 16 bits, by the data sheet
    reached: float  # FLOP/s in a whole step
    eight: float  # FLOP/s in 8 bits, by the data sheet
    memory: float  # bytes/s of its own memory
    inside: float  # bytes/s that it sends in its node
    between: float  # bytes/s that it sends to other nodes
    room: float  # bytes of its memory


A100 = Rates(312e12, 163e12, 312e12, 2.039e12, 300e9, 25e9, 80e9)
H100 = Rates(989e12, 400e12, 1979e12, 3.35e12, 450e9, 50e9, 80e9)
# Sold where NVLink may not have more than 400 GB/s, both directions together.
H800 = Rates(989e12, 400e12, 1979e12, 3.35e12, 200e9, 50e9, 80e9)
H200 = Rates(989e12, 400e12, 1979e12, 4.8e12, 450e9, 50e9, 141e9)
B200 = Rates(2250e12, 910e12, 4500e12, 8e12, 900e9, 50e9, 180e9)
RATES = {"A100": A100, "H100": H100, "H800": H800, "H200": H200, "B200": B200}
