"""Bytes for each parameter in training (weight, gradient, optimizer states), and ZeRO."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Precision:
    """Bytes per parameter: its weight, its gradient and its optimizer states."""

    weight: int
    gradient: int
    optimizer: int

    @property
    def total(self) -> int:
        return self.weight + self.gradient + self.optimizer


# The optimizer's 12 bytes: a copy of the weight, its mean and its variance, in 32 bits each.
PRECISIONS = {
    "mixed": Precision(2, 2, 12),  # ZeRO, arXiv 1910.02054, section 3.1
    "mixed, fp32 gradients": Precision(2, 4, 12),  # Megatron-LM: 18 bytes
    "fp32": Precision(4, 4, 8),
    "fp32 SGD": Precision(4, 4, 0),
    "fp32 SGD with momentum": Precision(4, 4, 4),
}
ZERO = {
    0: "every rank keeps everything",
    1: "each of the ranks keeps its share of the optimizer's state",
    2: "and of the gradients",
    3: "and of the weights",
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
    precision, 16P; 4P + 12P/N (stage 1); 2P + 14P/N (stage 2); 16P/N (stage 3).

    Raises:
        ValueError: for an unknown precision or stage.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision={precision!r}: choose one of {', '.join(PRECISIONS)}")
    checked_zero(zero)
    if ranks < 1 or parameters < 0:
        raise ValueError(
            f"{parameters} parameters on {ranks} ranks: give 0 or more parameters, 1 or more ranks"
        )
    each = PRECISIONS[precision]
    cut = [ranks if zero >= stage else 1 for stage in (3, 2, 1)]
    sizes = (each.weight, each.gradient, each.optimizer)
    words = f"{precision}: {' + '.join(map(str, sizes))} bytes a parameter"
    if zero:
        words += f"; ZeRO stage {zero} over {ranks} ranks"
    return States(*(size * parameters / n for size, n in zip(sizes, cut, strict=True)), words)


def checked_zero(zero: int) -> int:
    """Return the stage unchanged; raise ValueError if ZeRO has no such stage."""
    if zero not in ZERO:
        raise ValueError(f"zero={zero!r}: the stages are 0 (off), 1, 2 and 3")
    return zero
