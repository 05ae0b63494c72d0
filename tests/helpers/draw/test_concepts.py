"""Drawings of ideas: what they say, and that they say it of the right ones."""

import pytest

from helpers.cost import states
from helpers.draw import collectives, process_grid, ring
from helpers.draw.all_reduce import ring_steps
from helpers.draw.experts import CHOICES, heat, routing
from helpers.draw.held import COLLECTIVES
from helpers.draw.model import Sizes
from helpers.draw.pipelines import kept
from helpers.draw.states import zero_stages
from helpers.grid import Grid
from helpers.schedules import gpipe, one_f_one_b
from helpers.simulate import simulate
from simplellm.options import SIZES
from simplellm.tokenizers import SPTokenizer


@pytest.mark.parametrize("ranks", [2, 3, 4, 7])
def test_a_ring_adds_up_all_ranks_in_all_parts(ranks):
    steps = ring_steps(ranks)
    assert len(steps) == 1 + 2 * (ranks - 1)
    finished = int("1" * ranks)
    assert steps[-1].held == ((finished,) * ranks,) * ranks
    scattered = steps[ranks - 1].held  # each rank holds one finished part, of its own
    assert [parts.count(finished) for parts in scattered] == [1] * ranks
    assert len({parts.index(finished) for parts in scattered}) == ranks


@pytest.mark.parametrize(
    "draw, words",
    [
        (lambda: ring_steps(1), "2 ranks or more, not 1"),
        (lambda: ring(5), "at most 4"),
        (lambda: ring(3, 5), "from 0 to 4"),
        (lambda: collectives(["shuffle"]), "choose from broadcast, scatter"),
        (lambda: process_grid(2, 3, rank=6), "no rank 6: give 0 to 5"),
    ],
)
def test_what_cannot_be_shown(draw, words):
    with pytest.raises(ValueError, match=words):
        draw()


def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather():
    found = {each.name: each for each in COLLECTIVES}
    place = [held.index(f"Σ{rank}") for rank, held in enumerate(found["reduce-scatter"].after)]
    gathered = [next(i for i, part in enumerate(h) if part) for h in found["all-gather"].before]
    assert place == gathered, "each part stands where the all-gather expects it"


def test_the_title_names_the_row_and_the_column_of_a_rank():
    grid = Grid(dp=3, pp=4)
    title = process_grid(3, 4, rank=6).title
    row = [str(rank) for rank in grid.group(6, "pp") if rank != 6]
    column = [str(rank) for rank in grid.group(6, "dp") if rank != 6]
    assert (
        title
        == f"Rank 6: ranks {', '.join(row)} in its row, ranks {', '.join(column)} in its column"
    )
    assert "nobody in its column" in process_grid(1, 3, rank=0).title


@pytest.mark.parametrize("room", [2, 4])
def test_what_is_too_much_for_an_expert_is_hatched(room, rects):
    sizes = [sum(e in chosen for chosen in CHOICES) for e in range(4)]
    beyond = sum(max(0, size - room) for size in sizes)
    assert len([rect for rect in rects(routing(room)) if rect.hatch]) == beyond
    assert f"{beyond}, is hatched" in routing(room).alt


def test_the_largest_count_is_the_darkest(rects):
    cells = [s.fill for s in rects(heat({"before": [[0, 9], [1, 2]], "after": [[3, 3], [3, 3]]}))]
    assert len(cells) == 8 and cells.count(cells[1]) == 1 and len(set(cells[4:])) == 1


@pytest.mark.parametrize("ranks", [2, 4])
def test_each_stage_says_the_bytes_of_the_formula(ranks):
    alt = zero_stages(ranks).alt
    for stage, name in enumerate(("plain data parallelism", "ZeRO-1", "ZeRO-2", "ZeRO-3")):
        total = states(1, "mixed", stage, ranks).total
        assert f"{name}: {total:g} bytes a parameter on each of {ranks} ranks." in alt


def test_each_rank_says_how_much_it_keeps(texts):
    plans = gpipe(2, 5), one_f_one_b(2, 5)
    picture = kept({plan.name: simulate(plan).trace for plan in plans})
    told = [text for text in texts(picture) if "keeps" in text]
    assert told[:4] == ["keeps 5", "keeps 5", "keeps 2", "keeps 1"]
    assert "at most 5 and 5" in picture.alt and "at most 2 and 1" in picture.alt


def test_the_sizes_are_those_of_the_model_that_the_lessons_cut():
    size, drawn = SIZES["laptop"], Sizes()
    assert (size.dmodel, size.heads, size.layers) == (drawn.width, drawn.heads, drawn.layers)
    assert SPTokenizer(size.vocabulary).vocab_size == drawn.vocabulary
    assert size.seq_l == drawn.sequence and drawn.total == 547_648
