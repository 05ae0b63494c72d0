"""What a run costs: dollars of rent, and what its GPUs draw, in kWh, euros and CO2.

    print(bill(30.84e6))        Llama 3.1 405B, from its GPU hours

The defaults are those of H100s in 2023 and 2024; each is a parameter, so put in your own. Held
against emissions that were published, at the average intensity of the grid ("location-based"):

    run                GPU hours       watts   t CO2, published    by the defaults
    Llama 2 70B        1,720,320 A100    400             291.42    272      -6.7 %
    Llama 3.1 70B      7.0 million       700           2,040      1,937     -5.1 %
    Llama 3.1 405B    30.84 million      700           8,930      8,533     -4.4 %
    Llama 4            7.38 million      700           1,999      2,042     +2.2 %

Sources of the table: the model cards, and for Llama 2 arXiv 2307.09288, table 2. These count the
boards of the GPUs at full power, as `bill` does, and nothing else of the servers: eight H100 of 700
watts sit in a machine that draws up to 10.2 kW. The idle nodes and the network of BLOOM's cluster
added 59 % to the energy of its GPUs (arXiv 2211.02001). Experiments before the run, and building
the machines, are left out as well.
"""

from dataclasses import dataclass

DOLLARS = 2.0  # an hour of one GPU: what DeepSeek-V3's report assumes for an H800, arXiv 2412.19437
WATTS = 700.0  # one H100 SXM, by its data sheet; 400 for an A100
PUE = 1.08  # of Meta's data centers in 2023, by its sustainability report
EUROS = 0.19  # a kWh for other than households, EU average, first half of 2025 (Eurostat)
CO2 = 0.366  # kg a kWh, United States, 2023: 1,532 million t for 4,183 TWh (EIA)


@dataclass(frozen=True)
class Bill:
    """dollars: of rent. kwh: energy of the GPUs, with their share of cooling. euros: its price.
    co2: its emissions in metric tons. convention: the parameters."""

    gpu_hours: float
    dollars: float
    kwh: float
    euros: float
    co2: float
    convention: str

    def __str__(self) -> str:
        return (
            f"{self.gpu_hours:,.0f} GPU hours: {self.dollars:,.0f} dollars of rent; "
            f"{self.kwh:,.0f} kWh, {self.euros:,.0f} euros, {self.co2:,.3f} t CO2 "
            f"({self.convention})"
        )


def bill(
    gpu_hours: float,
    *,
    dollars: float = DOLLARS,
    watts: float = WATTS,
    pue: float = PUE,
    euros: float = EUROS,
    co2: float = CO2,
) -> Bill:
    """Return what `gpu_hours`, GPUs times hours, cost.

    dollars: rent of one GPU for an hour, which pays for the energy too. watts: of one GPU's board.
    pue: energy of the data center over that of its computers. euros: price of a kWh. co2: kg for a
    kWh of this grid.

    Raises:
        ValueError: for a negative number, and for a PUE below 1.
    """
    given = {"gpu_hours": gpu_hours, "dollars": dollars, "watts": watts, "euros": euros, "co2": co2}
    for name, value in given.items():
        if not value >= 0:
            raise ValueError(f"bill({name}={value!r}): give 0 or more")
    if not pue >= 1:
        raise ValueError(f"bill(pue={pue!r}): a data center draws at least what its computers draw")
    kwh = gpu_hours * watts / 1000 * pue
    words = (
        f"{dollars:g} dollars an hour, {watts:g} W a GPU, PUE {pue:g}, "
        f"{euros:g} euros and {co2:g} kg CO2 a kWh"
    )
    return Bill(gpu_hours, gpu_hours * dollars, kwh, kwh * euros, kwh * co2 / 1000, words)
