"""Scores: in the verdict, and in the class's table."""

import csv
import io
import json

import pytest

from helpers.grade.many import grade_all, json_of
from helpers.grade.submitted import submissions
from helpers.grade.tables import csv_of
from helpers.grade.verdict import Score

from .conftest import TASK

pytestmark = pytest.mark.slow

SCORED = """

def explain(case, seen):
    return None if seen > case else "it isn't above the case: nothing was added"


def passed(cases, seen):
    from helpers.grade.verdict import Score

    over = seen[0] - cases[0]
    return Score(f"score: {over} over", over, "over", best="lowest")
"""
ADDS = "def add_one(number):\n    return number + {}\n"


def test_a_score_is_in_the_verdict_and_the_table(small):
    """Of bodies that add so much."""
    small.write("tasks/t_1.py", TASK.partition("MUTANTS")[0] + SCORED)
    for name, by in {"ada-1": 2, "ada-2": 30, "bob": 4, "eve": 0, "twin": 30}.items():
        small.write(f"class/{name}/lab/work.py", ADDS.format(by))
    (small.root / "class" / "zoe").mkdir()
    grades = grade_all(submissions(small.root / "class"), ["T-1"], 2, 7, folder=small.tasks)
    found = {one.name: one.verdicts["T-1"] for one in grades.graded}
    assert found["ada-2"].score == Score("score: 30 over", 30, "over", "lowest")
    assert found["ada-2"].reason == "score: 30 over" and found["eve"].score is None
    head, *rows = csv.reader(io.StringIO(csv_of(grades)))
    assert head[:5] == ["submission", "points", "of", "T-1", "T-1 score (over)"]
    assert {row[0]: row[3:5] for row in rows} == {
        "ada-1": ["5", "2"], "ada-2": ["5", "30"], "bob": ["5", "4"], "eve": ["0", ""],
        "twin": ["5", "30"], "zoe": ["", ""],
    }  # fmt: skip
    facts = json.loads(json_of(grades))
    assert [s["verdicts"][0]["score"] for s in facts["submissions"]][2:4] == [
        {"number": 4, "unit": "over", "best": "lowest"}, None,
    ]  # fmt: skip
