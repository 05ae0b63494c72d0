"""What a picture must let see, whatever it looks like: findings of lessons, and one's own marks."""

import math

import pytest

from helpers.draw import curves, lanes
from helpers.draw.plots import _tick
from helpers.draw.style import BLUE, CURVES, ORANGE, WAIT
from helpers.schedules import interleaved, one_f_one_b
from helpers.simulate import simulate
from helpers.trace import Counter, Event, Trace
from tests.traces import data_parallel

LOSSES = [2 + 6 * math.exp(-i / 10) for i in range(40)]


def shifted(by):
    return [value + by for value in LOSSES]


def test_curves_differ_by_dashes_and_markers_and_stay_visible_where_they_are_one():
    lines = curves({f"run {i}": shifted(i) for i in range(6)}).lines
    looks = [(line.get_color(), line.get_marker(), line._unscaled_dash_pattern) for line in lines]
    assert [len(set(map(str, each))) for each in zip(*looks, strict=True)] == [6, 6, 6]
    ax = curves({"one device": LOSSES, "3 ranks": shifted(1e-7), "6 ranks": LOSSES})
    widths = [line.get_lw() for line in ax.lines]
    assert widths == sorted(widths, reverse=True) and widths[0] >= 3 * widths[2]
    below, _, above = ax.lines
    assert below.get_alpha() < 1 and below.get_ls() == "-" != above.get_ls()


def test_names_follow_where_the_curves_end_by_then_and_quiet_ones_are_gray_behind_the_others():
    def high(ax):
        ax.late(ax)
        (name,) = (text for text in ax.texts if text.get_text() == "a: 2.121")
        return name.get_position()[1]

    ax = curves({"a": LOSSES})
    ax.set_ylim(2, 100)
    assert high(ax) > high(curves({"a": LOSSES})), "further down"
    before = len(ax.get_children())
    ax.svg()
    assert len(ax.get_children()) == before, "drawing it leaves nothing behind"
    runs = {"mine": LOSSES, "healthy, seed 1": shifted(1), "healthy, seed 2": shifted(2)}
    *behind, mine = curves(runs, quiet=[name for name in runs if name != "mine"]).lines
    assert {line.get_color() for line in behind} == {WAIT} and mine.get_color() == CURVES[0]


@pytest.mark.parametrize(
    "name, tried, expected",
    [
        ("ranks", (1, 2, 4, 8, 16, 32, 64), "1, 2, 4, 8, 16, 32, 64"),
        ("ranks", (1, 3, 64), "1, 2, 5, 10, 20, 50"),
        ("bytes of the tensor", (400, 3e3, 2e6), "1 kB, 10 kB, 100 kB, 1 MB"),
        ("time (s)", (0.0005, 0.01, 2), "1 ms, 10 ms, 100 ms, 1 s"),
        ("parameters", (8e5, 1e8, 2e9), "1 M, 10 M, 100 M, 1 B"),
    ],
)
def test_a_logarithmic_axis_says_units_or_the_powers_of_two_tried(name, tried, expected):
    ax = curves({"a": dict.fromkeys(tried, 1.0)}, x=name, log="x")
    at = [v for v in ax.xaxis.get_majorticklocs() if tried[0] <= v <= tried[-1]]
    assert ", ".join(_tick(v, name) for v in at) == expected


def test_an_axis_is_the_time_and_a_student_can_go_on_drawing():
    ax = lanes({"1F1B": simulate(one_f_one_b(4, 8)).trace})
    assert ax.get_xlabel() == "time (s)" and ax.get_xlim() == (0, 33)
    before = ax.svg()
    ax.axvline(24, color="#123456")
    assert "#123456" in ax.svg() and "#123456" not in before


def test_memory_is_drawn_if_every_trace_counts_it(texts):
    counted = Trace([Event(0, "F", 0, 1)], {}, [Counter(0, "memory", 0, 2e9)])
    assert "peak 2 GB" in texts(lanes(counted))
    assert not any("peak" in text for text in texts(lanes({"a": counted, "b": data_parallel()})))


def test_what_a_caller_says_is_pale_and_what_would_be_too_many_is_left_out(widths):
    ax = lanes(simulate(interleaved(2, 4, chunks=2)).trace, pale=lambda event: event.kind == "B")
    assert len(widths(ax, ORANGE, 0.45)) == 16 and widths(ax, BLUE, 0.45) == []
    for micro_batches, letters in ((8, {"F0"}), (24, {"F"}), (120, set())):
        ax = lanes(simulate(one_f_one_b(4, micro_batches)).trace)
        inside = {t.get_text() for t in ax.texts if t.get_transform() != ax.page}
        assert inside & {"F0", "F"} == letters
    [arrows] = lanes(simulate(one_f_one_b(3, 4)).trace).collections
    assert len(arrows.U) == 16
    assert not lanes(simulate(one_f_one_b(8, 16)).trace).collections
    crowd = [Event(n % 8, "FB"[n // 8 % 2], n // 8, n // 8 + 1) for n in range(100_000)]
    svg = lanes(Trace(crowd)).svg()  # as pixels
    assert len(svg) < 400_000 and "<image" in svg
