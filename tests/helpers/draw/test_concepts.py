"""Drawings of ideas: words in their places, and shapes that say what the words say."""

import pytest

from helpers.cost import states
from helpers.draw import Point, collectives, points, process_grid, replicas, ring, ring_table, ways
from helpers.draw.all_reduce import ring_steps
from helpers.draw.drift import drift
from helpers.draw.experts import CHOICES, heat, routing, words_by_expert
from helpers.draw.formats import Bits, bits
from helpers.draw.held import COLLECTIVES
from helpers.draw.machines import machines
from helpers.draw.matrices import parallel_mlp
from helpers.draw.mesh import cut_weights
from helpers.draw.picture import Line, Rect, Text
from helpers.draw.pipelines import kept, places, steps
from helpers.draw.splits import two_splits
from helpers.draw.stages import Piece, cut, stages
from helpers.draw.states import HIGH, zero_stages
from helpers.draw.style import RANKS, cause
from helpers.grid import Grid
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


def two_steps():
    return steps(traces(waves(one_f_one_b(4, 8), 2), waves(zb_h2(4, 8), 2)), 8, "Two")


FORMATS = [Bits("bf16", 8, 7, -133, -126, 128), Bits("MX", 4, 3, -9, -6, 8.8, 8, 32)]
DRAWINGS = {
    "formats": lambda: bits(FORMATS, "a title"),
    "collectives": collectives,
    "two of them": lambda: collectives(["all-reduce", "gather"]),
    "ring": ring,
    "ring, later": lambda: ring(3, 4),
    "ring table": ring_table,
    "ways": ways,
    "few ways": lambda: ways(3),
    "replicas": replicas,
    "weights on a mesh": cut_weights,
    "local steps": drift,
    "machines": lambda: machines({"a": [[(0, 0), (0, 1)], [(1, 0), (1, 1)]]}),
    "what ranks keep": lambda: kept(traces(gpipe(4, 8), one_f_one_b(4, 8)), "K"),
    "two steps": two_steps,
    "where stages lie": lambda: places({"a line": range(4), "a V": [0, 1, 1, 0]}),
    "stages": lambda: stages((0, 6, 0), "3 × 128 × 64"),
    "a cut": lambda: cut((3, 2, 1), *PIECES),
    "points": lambda: points(SPREAD, "a title", x="MB"),
    "points, logarithmic": lambda: points(SPREAD, "t", x="MB", log="xy"),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_text_sticks_out_or_covers_another(name, check_layout):
    picture = DRAWINGS[name]()
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
    lines = [s for s in drift().canvas.shapes if isinstance(s, Line) and s.color in RANKS[:3]]
    starts = [line.points[0] for line in lines]
    assert len({start for start in starts if starts.count(start) == 3}) == 2


def test_each_block_stands_on_both_devices_of_one_half_and_on_one_of_the_other():
    svg = two_splits().svg()
    assert all(svg.count(f">block {layer}<") == 3 for layer in range(4))
    assert svg.count(">8 sentences<") == svg.count(">16 sentences<") == 2


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


def test_each_rank_is_a_shape_that_can_be_clicked():
    picture = process_grid(2, 3, rank=4)
    tips = [shape.tip for shape in picture.canvas.shapes if isinstance(shape, Rect) and shape.tip]
    assert tips == [f"rank {rank}" for rank in range(6)]
    fills = {shape.tip: shape.fill for shape in picture.canvas.shapes if isinstance(shape, Rect)}
    assert len({fills["rank 4"], fills["rank 5"], fills["rank 1"], fills["rank 0"]}) == 4
    assert "Along a row: activations. Down a column: gradients." in picture.alt


def test_a_rank_that_is_not_there():
    with pytest.raises(ValueError, match="no rank 6: give 0 to 5"):
        process_grid(2, 3, rank=6)


def test_each_choice_is_a_row_and_what_is_too_much_is_hatched():
    for room in (2, 4):
        picture = routing(room)
        hatched = [s for s in picture.canvas.shapes if isinstance(s, Rect) and s.hatch]
        sizes = [sum(e in chosen for chosen in CHOICES) for e in range(4)]
        assert sum(sizes) == 2 * len(CHOICES)
        assert len(hatched) == sum(max(0, size - room) for size in sizes)
        assert f"{len(hatched)}, is hatched" in picture.alt


def test_the_largest_count_is_the_darkest():
    picture = heat({"before": [[0, 9], [1, 2]], "after": [[3, 3], [3, 3]]})
    cells = [s.fill for s in picture.canvas.shapes if isinstance(s, Rect)]
    assert len(cells) == 8 and cells.count(cells[1]) == 1 and len(set(cells[4:])) == 1
    assert "before: 0, 9; 1, 2. after: 3, 3; 3, 3." in picture.alt


def test_a_long_text_is_wrapped_and_says_each_expert():
    words, experts = ["word"] * 60, [n % 9 for n in range(60)]
    picture = words_by_expert(words, experts)
    boxes = [s for s in picture.canvas.shapes if isinstance(s, Rect)]
    assert len(boxes) == 60 and len({s.y for s in boxes}) > 1
    assert max(s.x + s.width for s in boxes) <= 900
    numbers = [s.text for s in picture.canvas.shapes if isinstance(s, Text)][1::2]
    assert numbers == [str(expert) for expert in experts] and "word(8)" in picture.alt


@pytest.mark.parametrize("ranks", [2, 4])
def test_each_stage_says_the_bytes_of_the_formula(ranks):
    alt = zero_stages(ranks).alt
    for stage, name in enumerate(("plain data parallelism", "ZeRO-1", "ZeRO-2", "ZeRO-3")):
        total = states(1, "mixed", stage, ranks).total
        assert f"{name}: {total:g} bytes a parameter on each of {ranks} ranks." in alt


def test_a_sharded_state_is_drawn_once_over_all_ranks():
    drawn = [
        s
        for s in zero_stages(4).canvas.shapes
        if isinstance(s, Rect) and s.fill == cause("optimizer")
    ]
    areas = sorted(round(r.height) for r in drawn if r.width > 30)
    assert areas == [round((12 * HIGH - 2) / 4)] * 12 + [round(12 * HIGH - 2)] * 4


def test_an_mlp_on_ranks_has_a_part_of_each_matrix_on_each():
    picture = parallel_mlp(ranks=2)
    words = [s.text for s in picture.canvas.shapes if isinstance(s, Text)]
    assert {"A0", "A1", "B0", "B1", "f", "g"} <= set(words) and words.count("X") == 2
    assert "an all-reduce forward and nothing backward" in picture.alt
    right = max(s.x + s.width for s in picture.canvas.shapes if isinstance(s, Rect))
    assert right <= picture.canvas.width


def rects(picture, color):
    return [s for s in picture.canvas.shapes if isinstance(s, Rect) and s.fill == color]


def test_each_micro_batch_is_a_bar_and_the_stacks_are_what_is_kept():
    picture = kept(traces(gpipe(2, 5), one_f_one_b(2, 5)))
    assert len(rects(picture, cause("activations"))) == 2 * 2 * 5 + 1  # and one in the key
    told = [s.text for s in picture.canvas.shapes if isinstance(s, Text) if "keeps" in s.text]
    assert told[:4] == ["keeps 5", "keeps 5", "keeps 2", "keeps 1"]
    assert "at most 5 and 5" in picture.alt and "at most 2 and 1" in picture.alt


def test_activations_are_kept_until_w():
    assert "5, 5 and 5" in kept(traces(zb_h2(3, 6))).alt


def test_the_alternative_text_says_who_holds_what():
    assert "rank 0 holds the embedding and layer 0; rank 1 holds layers 1 and 2" in (
        stages((1, 2, 0)).alt
    )


def test_the_slowest_stage_is_named():
    assert cut((2, 2, 2), *PIECES).title.startswith("Cut 2 + 2 + 2: rank 2 computes longest, 1.50")
    assert cut((3, 3, 0), *PIECES).title.startswith("Cut 3 + 3 + 0: rank 0 computes longest, 1.12")
