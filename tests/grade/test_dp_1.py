"""DP-1: what the planted mistakes do not show."""

import pytest

from helpers.grade.submission import WorkFailed
from helpers.grade.task import Mistake, load_task


def test_a_missing_gradient_is_explained_and_other_crashes_are_not_touched():
    check = load_task("DP-1")

    def failing(sentence):
        class Failing:
            seed = 0

            def on_ranks(self, *_):
                raise WorkFailed("crash", sentence)

        return Failing()

    with pytest.raises(Mistake, match="has p.grad None, and must be skipped: rank 0 .*NoneType"):
        check.verify(failing("rank 0 failed first: TypeError: got NoneType"))
    with pytest.raises(WorkFailed, match="^rank 0 fell$"):
        check.verify(failing("rank 0 fell"))
