"""The project doesn't grow unnoticed."""

import budget


def test_no_part_has_more_lines_than_it_may():
    assert budget.over(budget.counted()) == []


def test_a_part_that_grew_and_a_file_in_no_part_are_told():
    limits = {"helpers": 100, "tests": 5}
    assert budget.over({"helpers": 102, "tests": 3, "": 0}, limits) == []
    helpers, nowhere = budget.over({"helpers": 103, "tests": 1, "": 1}, limits)
    assert helpers.startswith("helpers has 103 lines and may have 100")
    assert nowhere.startswith("what is in no part has 1 lines and may have 0")
    (whole,) = budget.over({"helpers": 101, "tests": 5, "": 0}, limits)
    assert whole.startswith("all parts have 106 lines and may have 105")


def test_a_file_counts_once_for_the_first_part_that_it_is_in():
    lines = budget.counted()
    assert lines["helpers/ranks"] > 1000 and lines["helpers"] > lines["helpers/ranks"]
    assert lines[""] == 0
