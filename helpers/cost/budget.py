"""What a run costs, and what to spend a budget on: dollars, kWh and CO2; a scaling law.

    bill(30.84e6).dollars        Llama 3.1 405B, from its GPU hours: 61,680,000

The defaults of a bill are those of H100s in 2023 and 2024; each is a parameter, so put in your own.
The published emissions of Llama 2 to 4 come out within 7 %: they count the boards of the GPUs at
full power, as `bill` does, and nothing else. The servers around them, idle nodes and the network
(which added 59 % to the energy of BLOOM's GPUs, arXiv 2211.02001), experiments before the run, and
building the machines are left out.
"""

import math
from dataclasses import dataclass

DOLLARS = 2.0  # an hour of one GPU: as DeepSeek-V3's report, arXiv 2412.19437, assumes of an H800
WATTS = 700.0  # one H100 SXM, by its data sheet; 400 for an A100
PUE = 1.08  # energy of a data center over its computers': Meta's in 2023, by its report
EUROS = 0.19  # a kWh for other than households, EU average, first half of 2025 (Eurostat)
CO2 = 0.366  # kg a kWh, United States, 2023: 1,532 million t for 4,183 TWh (EIA)


@dataclass(frozen=True)
class Bill:
    dollars: float  # of rent
    kwh: float  # energy of the GPUs, with their share of cooling
    euros: float  # its price
    co2: float  # its emissions in metric tons
    convention: str


def bill(
    gpu_hours: float,
    *,
    dollars: float = DOLLARS,
    watts: float = WATTS,
    pue: float = PUE,
    euros: float = EUROS,
    co2: float = CO2,
) -> Bill:
    """Return what `gpu_hours`, GPUs times hours, cost, in the units of the constants above."""
    given = {"gpu_hours": gpu_hours, "dollars": dollars, "watts": watts, "euros": euros, "co2": co2}
    for name, value in given.items():
        if not value >= 0:
            raise ValueError(f"bill({name}={value!r}): give 0 or more")
    if not pue >= 1:
        raise ValueError(f"bill(pue={pue!r}): a data center draws at least what its computers draw")
    kwh = gpu_hours * watts / 1000 * pue
    words = f"{dollars:g} dollars an hour, {watts:g} W a GPU, PUE {pue:g}, "
    words += f"{euros:g} euros and {co2:g} kg CO2 a kWh"
    return Bill(gpu_hours * dollars, kwh, kwh * euros, kwh * co2 / 1000, words)


@dataclass(frozen=True)
class ScalingLaw:
    """Loss(N, D) = a / N^alpha + b / D^beta + floor, for N parameters and D tokens.

    Hoffmann et al., "Training compute-optimal large language models", arXiv 2203.15556, approach 3.
    Training costs C = 6 N D FLOPs: two per weight and token forward, four backward. The default
    constants are those of a course's exercise, which wrote 0.29 for the paper's beta of 0.28.
    """

    a: float = 406.4
    alpha: float = 0.34
    b: float = 410.7
    beta: float = 0.29
    floor: float = 1.69

    def loss(self, parameters: float, tokens: float) -> float:
        """Return the predicted loss in nats per token."""
        return self.a / parameters**self.alpha + self.b / tokens**self.beta + self.floor

    @staticmethod
    def checked(budget: float | str) -> float:
        """Return the budget as a number; raise ValueError if nothing can be trained with it."""
        try:
            number = float(budget)
        except (TypeError, ValueError):
            number = math.nan
        if isinstance(budget, bool) or not 0 < number < math.inf:
            words = f"a budget of {budget} FLOPs trains nothing"
            raise ValueError(f"{words}: give a finite number above 0, such as 1.23e22")
        return number


EXERCISE = ScalingLaw()
