"""Scaling laws: the best model size and number of tokens for a budget of FLOPs."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class ScalingLaw:
    """Loss(N, D) = a / N^alpha + b / D^beta + floor, for N parameters and D tokens.

    The form is that of Hoffmann et al., "Training compute-optimal large language models", arXiv
    2203.15556, approach 3. Training costs C = 6 N D FLOPs: two per weight and token forward, four
    backward.

    The constants are by default `EXERCISE`.
    """

    a: float = 406.4
    alpha: float = 0.34
    b: float = 410.7
    beta: float = 0.29
    floor: float = 1.69

    def __post_init__(self):
        for name in ("a", "alpha", "b", "beta"):
            if not getattr(self, name) > 0:
                raise ValueError(f"ScalingLaw({name}={getattr(self, name)!r}): must be above 0")

    def loss(self, parameters: float, tokens: float) -> float:
        """Return the loss predicted by the scaling law, in nats per token."""
        return self.a / parameters**self.alpha + self.b / tokens**self.beta + self.floor

    @staticmethod
    def checked(budget: float | str) -> float:
        """Return the budget as a number; raise ValueError if nothing can be trained with it."""
        try:
            number = float("no number" if isinstance(budget, bool) else budget)
        except (TypeError, ValueError):
            number = math.nan
        if math.isnan(number):
            raise ValueError(f"the budget {budget!r} is not a number: give FLOPs, such as 1.23e22")
        if not 0 < number < math.inf:
            raise ValueError(
                f"a budget of {number:g} FLOPs trains nothing: give a finite number above 0, "
                "such as 1.23e22"
            )
        return number

    def best(self, budget: float) -> "Optimum":
        """Return the N and D with N * D = budget / 6 and the lowest loss, in closed form.

        There, one more percent of parameters gains as much as one more percent of tokens:
        alpha a / N^alpha = beta b / D^beta.

        Raises:
            ValueError: if the budget is not a positive, finite number.
        """
        product = self.checked(budget) / 6
        exponent = 1 / (self.alpha + self.beta)
        ratio = (self.alpha * self.a / (self.beta * self.b)) ** exponent
        n = ratio * product ** (self.beta * exponent)
        d = product / n
        return Optimum(n, d, self.loss(n, d), budget)

    def curve(self, budget: float) -> dict[float, float]:
        """Return {parameters: loss} at one budget, from a 30th of the best size to 30 times it.

        Left of the minimum the model is too small; right of it there are too few tokens.
        """
        best, product = self.best(budget), budget / 6
        steps = (30 ** (k / 30 - 1) for k in range(61))
        return {
            best.parameters * s: self.loss(n := best.parameters * s, product / n) for s in steps
        }


# A course's exercise. It took the paper's law and wrote 0.29 for its 0.28.
EXERCISE = ScalingLaw()


@dataclass(frozen=True)
class Optimum:
    """The best split of a budget. parameters: N. tokens: D. loss: nats per token. budget: C."""

    parameters: float
    tokens: float
    loss: float
    budget: float

    @property
    def tokens_per_parameter(self) -> float:
        return self.tokens / self.parameters

    def __str__(self) -> str:
        return (
            f"{self.parameters:.3g} parameters, {self.tokens:.3g} tokens "
            f"({self.tokens_per_parameter:.1f} a parameter), loss {self.loss:.3f} (C = 6ND)"
        )
