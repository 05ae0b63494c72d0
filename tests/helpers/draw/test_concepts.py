"""Drawings of ideas: collectives, ways to all-reduce, replicas."""

import pytest

from helpers.draw import Point, collectives, points, replicas, ring, ring_table, ways
from helpers.draw.all_reduce import ring_steps
from helpers.draw.collectives import COLLECTIVES
from helpers.draw.drift import COLORS, drift
from helpers.draw.mesh import cut_weights
from helpers.draw.picture import Line
from helpers.draw.pipelines import kept, places, steps
from helpers.draw.splits import two_splits
from helpers.draw.stages import Piece, cut, stages
from helpers.schedules import gpipe, one_f_one_b, waves, zb_h2
from helpers.simulate import simulate

PIECES = Piece(0.0, 0.0, 4e6), Piece(1.0, 2.0, 2e6), Piece(2.0, 4.0, 5e6)
SPREAD = {
    "gradients, every step": Point(300, [2.2, 2.4, 2.3], "gradients"),
    "weights, every step": Point(300, [2.4, 2.5, 2.6], "weights"),
    "once": Point(1.5, [3.3], "weights"),
}


def traces(*schedules):
    return {schedule.name: simulate(schedule).trace for schedule in schedules}


def two_steps(**theme):
    return steps(traces(waves(one_f_one_b(4, 8), 2), waves(zb_h2(4, 8), 2)), 8, "Two", **theme)


DRAWINGS = {
    "collectives": collectives,
    "two of them": lambda **theme: collectives(["all-reduce", "gather"], **theme),
    "ring": ring,
    "ring, later": lambda **theme: ring(3, 4, **theme),
    "ring table": ring_table,
    "ways": ways,
    "few ways": lambda **theme: ways(3, **theme),
    "replicas": replicas,
    "weights on a mesh": cut_weights,
    "local steps": drift,
    "what ranks keep": lambda **theme: kept(traces(gpipe(4, 8), one_f_one_b(4, 8)), "K", **theme),
    "two steps": two_steps,
    "where stages lie": lambda **theme: places({"a line": range(4), "a V": [0, 1, 1, 0]}, **theme),
    "stages": lambda **theme: stages((0, 6, 0), "3 × 128 × 64", **theme),
    "a cut": lambda **theme: cut((3, 2, 1), *PIECES, **theme),
    "points": lambda **theme: points(SPREAD, "a title", x="MB", **theme),
    "points, logarithmic": lambda **theme: points(SPREAD, "t", x="MB", log="xy", **theme),
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", DRAWINGS)
def test_no_text_sticks_out_or_covers_another(name, theme, check_layout):
    picture = DRAWINGS[name](theme=theme)
    check_layout(picture)
    assert picture.alt and picture.svg().startswith("<svg")


@pytest.mark.parametrize("ranks", [2, 3, 4, 7])
def test_a_ring_adds_up_all_ranks_in_all_parts(ranks):
    steps = ring_steps(ranks)
    assert len(steps) == 1 + 2 * (ranks - 1)
    finished = int("1" * ranks)
    assert steps[-1].held == ((finished,) * ranks,) * ranks
    scattered = steps[ranks - 1].held  # each rank holds one finished part, of its own
    assert [parts.count(finished) for parts in scattered] == [1] * ranks
    assert len({parts.index(finished) for parts in scattered}) == ranks


def test_what_a_ring_cannot_show():
    with pytest.raises(ValueError, match="2 ranks or more, not 1"):
        ring_steps(1)
    with pytest.raises(ValueError, match="at most 4"):
        ring(5)
    with pytest.raises(ValueError, match="from 0 to 4"):
        ring(3, 5)
    with pytest.raises(ValueError, match="choose from broadcast, scatter"):
        collectives(["shuffle"])


def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather():
    found = {each.name: each for each in COLLECTIVES}
    place = [held.index(f"Σ{rank}") for rank, held in enumerate(found["reduce-scatter"].after)]
    gathered = [next(i for i, part in enumerate(h) if part) for h in found["all-gather"].before]
    assert place == gathered, "each part stands where the all-gather expects it"


def test_three_paths_leave_one_point_in_each_half():
    lines = [s for s in drift().canvas.shapes if isinstance(s, Line) and s.colour in COLORS]
    starts = [line.points[0] for line in lines]
    assert len({start for start in starts if starts.count(start) == 3}) == 2


def test_each_block_stands_on_both_devices_of_one_half_and_on_one_of_the_other():
    svg = two_splits(layers=4, sentences=16).svg()
    assert all(svg.count(f">block {layer}<") == 3 for layer in range(4))
    assert svg.count(">8 sentences<") == svg.count(">16 sentences<") == 2
