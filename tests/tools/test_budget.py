"""The project doesn't grow unnoticed."""

import budget


def test_no_part_has_more_lines_than_it_may():
    assert budget.over(budget.counted()) == []


def test_a_part_that_grew_and_a_file_in_no_part_are_told():
    found = budget.over({"helpers": 11, "tests": 5, "": 1}, {"helpers": 10, "tests": 5})
    assert len(found) == 2 and found[0].startswith("helpers has 11 lines and may have 10")
    assert found[1].startswith("what is in no part has 1 lines and may have 0")


def test_a_file_counts_once_for_the_first_part_that_it_is_in():
    lines = budget.counted()
    assert lines["helpers/ranks"] > 1000 and lines["helpers"] > lines["helpers/ranks"]
    assert lines[""] == 0
