"""Drawings of ideas: collectives, ways to all-reduce, replicas."""

import pytest

from helpers.draw import collectives, replicas, ring, ring_table, ways
from helpers.draw.all_reduce import ring_steps
from helpers.draw.held import COLLECTIVES
from helpers.draw.mesh import cut_weights
from helpers.draw.picture import Text

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


def test_a_ring_names_the_part_that_arrives():
    words = {shape.text for shape in ring(4, 1).canvas.shapes if isinstance(shape, Text)}
    assert {"part 0", "part 1", "part 2", "part 3", "11", "110"} <= words
