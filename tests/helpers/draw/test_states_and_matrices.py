"""The drawings of shards and of cut matrices: what is kept is drawn, and said in words."""

import pytest

from helpers.cost import states
from helpers.draw.matrices import parallel_mlp
from helpers.draw.picture import Rect, Text
from helpers.draw.states import GREEN, HIGH, zero_stages


@pytest.mark.parametrize("ranks", [2, 4])
def test_each_stage_says_the_bytes_of_the_formula(ranks):
    alt = zero_stages(ranks).alt
    for stage, name in enumerate(("plain data parallelism", "ZeRO-1", "ZeRO-2", "ZeRO-3")):
        total = states(1, "mixed", stage, ranks).total
        assert f"{name}: {total:g} bytes a parameter on each of {ranks} ranks." in alt


def test_a_sharded_state_is_drawn_once_over_all_ranks():
    drawn = [s for s in zero_stages(4).canvas.shapes if isinstance(s, Rect) and s.fill == GREEN]
    areas = sorted(round(r.height) for r in drawn if r.width > 30)
    assert areas == [round((12 * HIGH - 2) / 4)] * 12 + [round(12 * HIGH - 2)] * 4


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_mlp_on_ranks_has_a_part_of_each_matrix_on_each(theme):
    picture = parallel_mlp(ranks=2, theme=theme)
    words = [s.text for s in picture.canvas.shapes if isinstance(s, Text)]
    assert {"A0", "A1", "B0", "B1", "f", "g"} <= set(words) and words.count("X") == 2
    assert "an all-reduce forward and nothing backward" in picture.alt
    right = max(s.x + s.width for s in picture.canvas.shapes if isinstance(s, Rect))
    assert right <= picture.canvas.width
