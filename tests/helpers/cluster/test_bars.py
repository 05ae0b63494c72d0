"""Bars: lengths, words, colors."""

import pytest

from helpers.cluster import Group, Layout, bars, estimate, memory_group, preset, time_group
from helpers.cost import gpt
from helpers.draw.picture import Line
from helpers.draw.style import CAUSES, UNKNOWN, WAITING, cause


def test_the_same_size_is_the_same_length_in_every_row(rects, texts):
    rows = {"one": {"a": 2.0, "b": 1.0}, "two": {"a": 1.0, "b": 4.0}}
    picture = bars([Group(rows, text=str)], "found")
    width = {rect.tip + str(i // 2): rect.width for i, rect in enumerate(rects(picture)[:4])}
    assert width["a: 2.00"] == pytest.approx(2 * width["a: 1.01"])
    assert width["b: 4.01"] == pytest.approx(4 * width["b: 1.00"])
    assert {"one", "two", "3.0", "5.0", "a", "b", "found"} <= set(texts(picture))
    assert all(rect.x + rect.width <= picture.canvas.width for rect in rects(picture))


def test_what_is_beyond_the_limit_is_said_and_framed(texts):
    within = bars([Group({"row": {"a": 2.0}}, str, limit=4.0, limit_name="room:")], "t")
    assert "room: 4.0" in texts(within) and "more than" not in within.alt
    beyond = bars([Group({"row": {"a": 5.0}}, str, limit=4.0)], "t")
    assert "row: 5.0, more than the 4.0 there are; a 100 %." in beyond.alt
    lines = ([s.color for s in p.canvas.shapes if isinstance(s, Line)] for p in (within, beyond))
    assert [cause("fault") in colors for colors in lines] == [False, True]


def test_a_part_has_the_color_of_its_cause_in_whatever_row_and_figure(rects):
    one = bars([Group({"a": {"weights": 9.0, "gradients": 9.0}})])
    other = bars([Group({"a": {"activations": 9.0, "bubble": 9.0, "mine": 9.0, "weights": 9.0}})])
    for picture in (one, other):
        found = {r.tip.split(":")[0]: r for r in rects(picture) if r.tip}
        assert found["weights"].fill == cause("weights")
    assert found["activations"].fill == cause("activations") and found["mine"].fill == UNKNOWN
    assert found["bubble"].hatch and not found["activations"].hatch


def test_no_two_causes_of_an_estimate_look_alike():
    """What stands in one figure: memory by component above time by cause."""
    done = estimate(gpt(4096, 8, 32), Layout(16, dp=2, pp=2, tp=2), preset("A100"))
    names = [*done.memory.named(), *done.causes]
    assert set(names) <= set(CAUSES), "a part without a color of its own: add it to CAUSES"
    colors = [cause(name) for name in names if name not in ("optimizer", "update")]
    assert len(set(colors)) == len(colors) and colors.count(WAITING) == 1
    assert cause("optimizer") == cause("update")


def test_each_part_has_its_value_a_number_and_a_word(texts):
    """Color is never the only sign."""
    rows = {"one": {"weights": 100.0, "gradients": 3.0, "optimizer": 2.0, "bubble": 20.0}}
    shown = set(texts(bars([Group(rows, text=str)])))
    assert {"weights 100.0", "2: 3.0", "3: 2.0", "bubble 20.0", "125.0"} <= shown
    done = estimate(gpt(4096, 8, 32), Layout(16, dp=2, pp=2, tp=2), preset("A100"))
    picture = bars([memory_group({"m": done}), time_group({"t": done})], "t")
    assert {"weights", "optimizer", "matrix products", "bubble", "1", "2", "3"} <= set(
        texts(picture)
    )
    assert "weights" in picture.alt and "matrix products" in picture.alt
