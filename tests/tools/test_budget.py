"""The project doesn't grow unnoticed."""

import budget


def test_no_part_has_more_lines_than_it_may():
    assert budget.over(budget.counted()) == []
