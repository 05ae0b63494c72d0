"""Drawings of ideas: what they say, and that they say it of the right ones."""

import pytest

from helpers.draw import cells, grid, ring, who_waits
from helpers.draw.style import BLUE, ORANGE
from helpers.waits import Wait, WaitGraph

COUNTS = {"before": [[0, 9], [1, 2]], "after": [[3, 3], [3, 3]]}
BOTH = Wait(0, (1, 3), "sends", "a.py:3", "send(x, 1)"), Wait(1, (0,), "sends")
CIRCLE = WaitGraph(BOTH, ended=(2,), others={3: "computes"})
HALF = "rank 1 holds 11 10 1111 1011; rank 2 holds 111 110 100 1111; rank 3 holds 1111 1110 1100 1"
ALL = "111 111 111"
DRAWINGS = {  # and what each says
    "rows": (lambda: cells([["a", "b"], ["c"]], "t"), "t. a, b; c."),
    "named": (lambda: cells({"r 0": ["F0", ""], "r 1": ["", "F0"]}, columns=[0, 1]), "r 0: F0, "),
    "tables": (lambda: cells({"x": {"r": [0, 4]}, "y": {"r": [0, 7]}}, "t"), "y: r: 0, 7."),
    "own words": (lambda: cells([["a"]], alt="my words"), "my words"),
    "counts": (lambda: grid(COUNTS), "before: row 0: 0, 9; row 1: 1, 2. after: row 0: 3, 3"),
    "not a number": (lambda: grid([[float("nan"), 0.5]]), "nan, 0.5"),
    "ring": (ring, "rank 0 holds 1"),
    "ring, halfway": (lambda: ring(4, 3), f"rank 0 holds 1 1111 1101 1001; {HALF}"),
    "ring, at its end": (lambda: ring(3, 4), "; ".join(f"rank {r} holds {ALL}" for r in range(3))),
    "waits": (lambda: who_waits(CIRCLE), "Who waits for whom. "),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_text_sticks_out_or_covers_another(name, check_layout):
    make, said = DRAWINGS[name]
    ax = make()
    assert said in ax.alt
    check_layout(ax)


@pytest.mark.parametrize(
    "draw, words",
    [
        (lambda: ring(5), "a ring of 5 ranks can't be drawn: take 2, 3 or 4"),
        (lambda: ring(3, 5), "from 0 to 4"),
        (lambda: cells({"a": []}), r"cells\(\) needs at least one cell"),
        (lambda: grid([[]]), r"grid\(\) needs at least one number"),
        (lambda: who_waits(WaitGraph(())), "nothing to draw"),
    ],
)
def test_what_cannot_be_shown(draw, words):
    with pytest.raises(ValueError, match=words):
        draw()


def test_a_cell_has_the_color_of_its_text_or_of_its_letter_and_the_largest_count_is_darkest(widths):
    plain = cells([["F0", "B0", "F1"]], colors={"F": BLUE, "F1": ORANGE})
    assert len(widths(plain, BLUE)) == 1 and len(widths(plain, ORANGE)) == 1
    assert len(widths(cells([[3, 4]], colors=lambda n: BLUE if n == 3 else ""), BLUE)) == 1
    shares = [patch.get_facecolor()[3] for patch in grid(COUNTS).patches]
    assert len(shares) == 8 and shares.index(max(shares)) == 1 and len(set(shares[4:])) == 1


def test_no_two_arrows_lie_on_each_other():
    waits = [Wait(a, tuple(b for b in range(5) if b != a), "waits") for a in range(5)]
    lines = [line.get_xydata() for line in who_waits(WaitGraph(waits)).lines]
    upright = [(way[1][0], sorted((way[1][1], way[2][1]))) for way in lines]
    assert len(upright) == 20
    for n, (x, (low, high)) in enumerate(upright):
        for other, (start, end) in upright[:n]:
            assert x != other or high <= start or end <= low
