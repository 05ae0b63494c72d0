"""Schedules written by hand: read as meant, or refused with line and column."""

import pytest

from helpers.schedules import breadth_first, gpipe, interleaved, one_f_one_b, parse, to_text, zb_h1


def test_stages_are_implied_where_a_rank_has_one():
    schedule = parse("rank 0: F0 F1 B0 B1\nrank 1: F0 F1 B0 B1", name="mine")
    assert schedule.ranks == gpipe(2, 2).ranks and schedule.rank_of == (0, 1)
    assert (schedule.name, schedule.micro_batches) == ("mine", 2)


def test_separators_comments_empty_places_and_the_order_of_lines_do_not_matter():
    text = """
        # the second rank first
        1: . , F0 | F1  B0,B1 -    # starts late
        Rank 0: F0|F1 . . B0 B1
    """
    assert parse(text).ranks == gpipe(2, 2).ranks


@pytest.mark.parametrize(
    "schedule",
    [gpipe(1, 1), one_f_one_b(12, 3), zb_h1(3, 4), interleaved(2, 4), breadth_first(3, 2)],
)
def test_out_and_in_again(schedule):
    again = parse(to_text(schedule), schedule.name)
    assert again == schedule and str(schedule) == to_text(schedule)


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "the text holds no schedule: write a line for each rank"),
        ("F0 B0", 'line 1 does not say which rank it is of: begin it with "rank 0:"'),
        ("0: F0\n0: B0", "line 2: rank 0 has a line already"),
        ("0: F0\n\n2: F0", "there is no line for rank 1, and one for rank 2"),
        ("rank 0: F0 X1", "line 1, column 12: 'X1' is no action: write F, B, I or W"),
        ("0: F0 BW0", "'BW0' is no action: write B for BW, torch's older name of the whole"),
        ("0: F0\n1:  F0 B", "line 2, column 8: 'B' is no action"),
        ("0: 0F0 B0", "line 1, column 8: 'B0' names no stage: write it before the letter, as 2B0"),
        ("0: f0", "line 1, column 4: 'f0' is no action"),
    ],
)
def test_what_is_no_schedule_is_refused_with_its_place(text, words):
    with pytest.raises(ValueError) as caught:
        parse(text)
    assert words in str(caught.value) and "\n" not in str(caught.value)
