"""Floating-point formats: how many bits say how large a number is, and how many say it exactly.

A number is (-1)^sign x 1.mantissa x 2^exponent. With e bits for the exponent and m for the
mantissa, neighbors lie 2^-m of their size apart, and the normal numbers begin at 2^(2 - 2^(e-1)).
Below them the distance stays what it is at the smallest normal number (subnormals), down to 0.
"""

import math
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Format:
    """A floating-point format.

    exponent, mantissa: bits. largest: finite value; E4M3 and E2M1 spend no exponent on infinity.
    dtype: torch's, where it computes with one number at a time.
    """

    name: str
    exponent: int
    mantissa: int
    largest: float
    dtype: torch.dtype | None = None

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.mantissa

    @property
    def rounding(self) -> float:
        """The root mean square of what rounding changes, as a share of the number.

        The distance u to the next number is 2^-m / s for a significand s of 1 to 2, and rounding
        is off by up to u/2, evenly, so by u / sqrt(12). Significands are spread like 1/s, which
        makes the mean of 1/s^2 equal to 3 / (8 ln 2).
        """
        return 2.0**-self.mantissa * (3 / (8 * math.log(2)) / 12) ** 0.5

    def round(self, x: torch.Tensor) -> torch.Tensor:
        """Return x (float32) rounded to this format, as float32.

        What is too large becomes infinite, and in eight bits or fewer `largest`, as on a GPU.
        """
        if self.dtype is None:
            return rounded(x, self)
        kept = x.clamp(-self.largest, self.largest) if self.bits <= 8 else x
        return kept.to(self.dtype).float()


def rounded(x: torch.Tensor, to: Format) -> torch.Tensor:
    """Return x (float32) rounded to the nearest number of a format, by arithmetic alone.

    What is too large becomes `to.largest`.
    """
    exponent = torch.frexp(x).exponent - 1  # |x| is 1 to 2 times 2^exponent
    lowest = 2 - 2 ** (to.exponent - 1)
    step = torch.exp2((exponent.clamp(min=lowest) - to.mantissa).float())
    return (torch.round(x / step) * step).clamp(-to.largest, to.largest)


FP32 = Format("fp32", 8, 23, 3.4028234663852886e38, torch.float32)
BF16 = Format("bf16", 8, 7, 3.3895313892515355e38, torch.bfloat16)
FP16 = Format("fp16", 5, 10, 65504.0, torch.float16)
E4M3 = Format("E4M3", 4, 3, 448.0, torch.float8_e4m3fn)
E5M2 = Format("E5M2", 5, 2, 57344.0, torch.float8_e5m2)
E2M1 = Format("E2M1", 2, 1, 6.0)
