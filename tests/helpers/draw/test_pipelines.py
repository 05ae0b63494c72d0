"""Pictures of pipelines: what ranks keep, how steps fit together, where stages lie."""

from helpers.draw.picture import Rect, Text
from helpers.draw.pipelines import kept
from helpers.draw.style import SKY
from helpers.schedules import gpipe, one_f_one_b, zb_h2
from helpers.simulate import simulate


def traces(*schedules):
    return {schedule.name: simulate(schedule).trace for schedule in schedules}


def rects(picture, colour):
    return [s for s in picture.canvas.shapes if isinstance(s, Rect) and s.fill == colour]


def test_each_micro_batch_is_a_bar_and_the_stacks_are_what_is_kept():
    picture = kept(traces(gpipe(2, 5), one_f_one_b(2, 5)))
    assert len(rects(picture, SKY)) == 2 * 2 * 5 + 1  # and one in the key
    told = [s.text for s in picture.canvas.shapes if isinstance(s, Text) if "keeps" in s.text]
    assert told[:4] == ["keeps 5", "keeps 5", "keeps 2", "keeps 1"]
    assert "at most 5 and 5" in picture.alt and "at most 2 and 1" in picture.alt


def test_until_the_input_gradient_less_is_kept():
    late, early = kept(traces(zb_h2(3, 6))), kept(traces(zb_h2(3, 6)), until="backward")
    assert "5, 5 and 5" in late.alt and "5, 3 and 1" in early.alt
