"""Routing, who sends to whom, and words by expert: what is drawn is what is counted."""

from helpers.draw.experts import CHOICES, heat, routing, words_by_expert
from helpers.draw.picture import Rect, Text


def test_each_choice_is_a_row_and_what_is_too_much_is_hatched():
    for places in (2, 4):
        picture = routing(places)
        hatched = [s for s in picture.canvas.shapes if isinstance(s, Rect) and s.hatch]
        sizes = [sum(e in chosen for chosen in CHOICES) for e in range(4)]
        assert sum(sizes) == 2 * len(CHOICES)
        assert len(hatched) == sum(max(0, size - places) for size in sizes)
        assert f"{len(hatched)}, is hatched" in picture.alt
    assert routing().alt == routing(theme="dark").alt


def test_the_largest_count_is_the_darkest():
    picture = heat({"before": [[0, 9], [1, 2]], "after": [[3, 3], [3, 3]]}, title="Even")
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
