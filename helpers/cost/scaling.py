"""Scaling laws: the best model size and number of tokens for a budget of FLOPs."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class ScalingLaw:
    """Loss(N, D) = a / N^alpha + b / D^beta + floor, for N parameters and D tokens.

    The form is that of Hoffmann et al., "Training compute-optimal large language models", arXiv
    2203.15556, approach 3. Training costs C = 6 N D FLOPs: two per weight and token forward, four
    backward. The constants are by default a course's exercise, which wrote 0.29 for the paper's
    beta of 0.28.
    """

    a: float = 406.4
    alpha: float = 0.34
    b: float = 410.7
    beta: float = 0.29
    floor: float = 1.69

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

    def curve(self, budget: float) -> dict[float, float]:
        """Return {parameters: loss} at one budget, from a 30th of the best size to 30 times it.

        At the best, one more percent of parameters gains as much as one more percent of tokens:
        alpha a / N^alpha = beta b / D^beta.
        """
        product = self.checked(budget) / 6
        ratio = self.alpha * self.a / (self.beta * self.b)
        best = (ratio * product**self.beta) ** (1 / (self.alpha + self.beta))
        sizes = (best * 30 ** (k / 30 - 1) for k in range(61))
        return {n: self.loss(n, product / n) for n in sizes}


EXERCISE = ScalingLaw()
