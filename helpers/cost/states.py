"""Bytes for each parameter in training (weight, gradient, optimizer states), and ZeRO."""

from dataclasses import dataclass

# Bytes of a weight, its gradient, and its optimizer states. Adam's 12 are a copy of the weight, its
# mean and its variance, in 32 bits each.
PRECISIONS = {
    "mixed": (2, 2, 12),  # ZeRO, arXiv 1910.02054, section 3.1
    "mixed, fp32 gradients": (2, 4, 12),  # Megatron-LM: 18 bytes
    "fp32": (4, 4, 8),
    "fp32 SGD": (4, 4, 0),
    "fp32 SGD with momentum": (4, 4, 4),
}


@dataclass(frozen=True)
class States:
    """Bytes on one rank."""

    weights: float
    gradients: float
    optimizer: float
    convention: str = ""

    @property
    def total(self) -> float:
        return self.weights + self.gradients + self.optimizer


def states(parameters: float, precision: str = "mixed", zero: int = 0, ranks: int = 1) -> States:
    """Return what one of `ranks` data-parallel ranks keeps of a model.

    Rajbhandari et al., "ZeRO", arXiv 1910.02054, table 1: with P parameters and N ranks, mixed
    precision, 16P; 4P + 12P/N (stage 1 cuts the optimizer's state); 2P + 14P/N (stage 2, and the
    gradients); 16P/N (stage 3, and the weights).

    Raises:
        ValueError: for an unknown precision or stage.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision={precision!r}: choose one of {', '.join(PRECISIONS)}")
    if ranks < 1 or parameters < 0:
        raise ValueError(
            f"{parameters} parameters on {ranks} ranks: give 0 or more parameters, 1 or more ranks"
        )
    sizes = PRECISIONS[precision]
    cut = [ranks if checked_zero(zero) >= stage else 1 for stage in (3, 2, 1)]
    words = f"{precision}: {' + '.join(map(str, sizes))} bytes a parameter"
    if zero:
        words += f"; ZeRO stage {zero} over {ranks} ranks"
    return States(*(size * parameters / n for size, n in zip(sizes, cut, strict=True)), words)


def checked_zero(zero: int) -> int:
    """Return the stage unchanged; raise ValueError if ZeRO has no such stage."""
    if zero not in (0, 1, 2, 3):
        raise ValueError(f"zero={zero!r}: the stages are 0 (off), 1, 2 and 3")
    return zero
