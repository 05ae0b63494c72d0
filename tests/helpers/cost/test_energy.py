"""Dollars, kWh, euros and CO2 of runs, held against what was published."""

import math
import re

import pytest

from helpers.cost import bill, energy

# GPU hours, watts, t CO2 by the grid's average: Meta's model cards; Llama 2: arXiv 2307.09288.
PUBLISHED = {
    "Llama 2 70B": (1_720_320, 400, 291.42),
    "Llama 3.1 70B": (7.0e6, 700, 2040),
    "Llama 3.1 405B": (30.84e6, 700, 8930),
    "Llama 4": (7.38e6, 700, 1999),
}


@pytest.mark.parametrize("run", PUBLISHED)
def test_published_emissions_to_seven_percent(run):
    hours, watts, tons = PUBLISHED[run]
    found = bill(hours, watts=watts).co2
    assert abs(found / tons - 1) < 0.07
    row = re.search(rf"{re.escape(run)} .*", energy.__doc__).group()
    assert row.endswith(f"{100 * (found / tons - 1):+.1f} %") and f"{found:,.0f} " in row


def test_bloom_whose_own_intensity_and_energy_are_published():
    """arXiv 2211.02001: 1,082,990 hours of A100, 433,196 kWh, 57 g a kWh: 24.7 t."""
    found = bill(1_082_990, watts=400, pue=1, co2=0.057)
    assert found.kwh == pytest.approx(433_196) and found.co2 == pytest.approx(24.7, abs=0.05)


def test_the_published_rent_of_deepseek_v3():
    """arXiv 2412.19437, table 1: 2,788 thousand H800 hours, 5.576 million dollars."""
    assert bill(2.788e6).dollars == pytest.approx(5.576e6)


def test_what_it_says():
    found = bill(1000, euros=0.2, co2=0.5, pue=1.5, dollars=3)
    assert (found.kwh, found.euros, found.co2) == pytest.approx((1050, 210, 0.525))
    assert str(found) == (
        "1,000 GPU hours: 3,000 dollars of rent; 1,050 kWh, 210 euros, 0.525 t CO2 "
        "(3 dollars an hour, 700 W a GPU, PUE 1.5, 0.2 euros and 0.5 kg CO2 a kWh)"
    )


def test_wrong_numbers():
    with pytest.raises(ValueError, match=r"bill\(gpu_hours=-1\): give 0 or more"):
        bill(-1)
    with pytest.raises(ValueError, match=r"bill\(watts=nan\): give 0 or more"):
        bill(1, watts=math.nan)
    with pytest.raises(ValueError, match=r"bill\(pue=0.9\): a data center draws at least"):
        bill(1, pue=0.9)
