"""Bars of estimates: their parts, and a color of its own for each."""

from helpers.cluster import Layout, estimate, memory_bars, preset, time_bars
from helpers.cost import gpt
from helpers.draw.style import CAUSES, HATCHED


def test_no_two_causes_of_an_estimate_look_alike():
    """What stands in one figure: memory by component above time by cause."""
    done = estimate(gpt(4096, 8, 32), Layout(16, dp=2, pp=2, tp=2), preset("A100"))
    names = [*done.memory.named(), *done.causes]
    assert set(names) <= set(CAUSES), "a part without a color of its own: add it to CAUSES"
    colors = [CAUSES[name] for name in names if name not in ("optimizer", "update")]
    assert len(set(colors)) == len(colors) and colors.count(HATCHED) == 1
    assert CAUSES["optimizer"] == CAUSES["update"]


def test_the_bars_of_estimates_say_their_parts(texts):
    done = estimate(gpt(4096, 8, 32), Layout(16, dp=2, pp=2, tp=2), preset("A100"))
    memory, time = memory_bars({"m": done}, "a title"), time_bars({"t": done})
    assert {"weights", "optimizer", "1", "2", "3", "a title"} <= set(texts(memory))
    assert any(text.startswith("A100: ") for text in texts(memory))
    assert {"matrix products", "bubble"} <= set(texts(time))
    assert "weights" in memory.alt and "matrix products" in time.alt
