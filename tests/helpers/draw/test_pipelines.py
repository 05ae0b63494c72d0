"""Pictures of pipelines: what ranks keep, how steps fit together, where stages lie."""

import pytest

from helpers.draw.lanes import strength_of_stages
from helpers.draw.picture import Rect, Text
from helpers.draw.pipelines import kept, places, steps
from helpers.draw.style import BLUE, LIGHT, SKY
from helpers.schedules import gpipe, interleaved, one_f_one_b, waves, zb_h2
from helpers.simulate import simulate


def traces(*schedules):
    return {schedule.name: simulate(schedule).trace for schedule in schedules}


def rects(picture, colour):
    return [s for s in picture.canvas.shapes if isinstance(s, Rect) and s.fill == colour]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_layout(check_layout, theme):
    check_layout(kept(traces(gpipe(4, 8), one_f_one_b(4, 8)), "What is kept", theme=theme))
    two = traces(waves(one_f_one_b(4, 8), 2), waves(zb_h2(4, 8), 2))
    check_layout(steps(two, 8, "Two steps", theme))
    check_layout(places({"a line": range(4), "a V": [0, 1, 1, 0]}, "Where stages lie", theme))


def test_each_micro_batch_is_a_bar_and_the_stacks_are_what_is_kept():
    picture = kept(traces(gpipe(2, 5), one_f_one_b(2, 5)))
    assert len(rects(picture, SKY)) == 2 * 2 * 5 + 1  # and one in the key
    told = [s.text for s in picture.canvas.shapes if isinstance(s, Text) if "keeps" in s.text]
    assert told[:4] == ["keeps 5", "keeps 5", "keeps 2", "keeps 1"]
    assert "at most 5 and 5" in picture.alt and "at most 2 and 1" in picture.alt


def test_activations_are_kept_until_w():
    assert "5, 5 and 5" in kept(traces(zb_h2(3, 6))).alt


def test_every_other_step_is_pale():
    picture = steps(traces(waves(one_f_one_b(2, 3), 2)), 3)
    assert len(rects(picture, BLUE)) == 2 * 3 + 1  # and one in the key
    assert len(rects(picture, LIGHT.faded(BLUE, 0.5))) == 2 * 3 + 1


def test_stages_lie_where_the_ranks_say():
    picture = places({"a V": [0, 1, 1, 0]})
    assert "rank 0 stages 0 and 3; rank 1 stages 1 and 2" in picture.alt


def test_later_stages_of_a_rank_are_paler():
    events = simulate(interleaved(2, 2, chunks=3)).trace.by_rank()[1]
    strength = strength_of_stages(events)
    assert list(strength) == [1, 3, 5] and strength[1] == 1 > strength[3] > strength[5] > 0.4
