"""Scores: in the verdict, in the class's tables, and on a board."""

import csv
import io
import json
from dataclasses import replace

from helpers.grade import __main__ as program
from helpers.grade.board import Entry, boards_of, in_html, in_text, ranked
from helpers.grade.many import Graded, Grades, grade_all, json_of
from helpers.grade.roster import read_roster, rows_of
from helpers.grade.submitted import submissions
from helpers.grade.tables import csv_of
from helpers.grade.verdict import Score, Verdict

from .conftest import TASK

SCORED = """

def explain(case, seen):
    return None if seen > case else "it isn't above the case: nothing was added"


def passed(cases, seen):
    from helpers.grade.verdict import Score

    over = seen[0] - cases[0]
    return Score(f"score: {over} over", over, "over", best="lowest")
"""
ADDS = "def add_one(number):\n    return number + {}\n"
ROSTER = "name,id\nAda,ada\nBob,bob\nEve,eve\nZoë,zoe\n"


def test_a_score_is_in_the_verdict_the_tables_and_the_board(small, tmp_path):
    """Of bodies that add so much; of two attempts by ada the second adds more."""
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

    roster = tmp_path / "roster.csv"
    roster.write_text(ROSTER, encoding="utf-8")
    people = read_roster(roster)
    rows = list(csv.DictReader(io.StringIO(csv_of(grades, people))))
    assert [(row["name"], row["T-1"], row["T-1 score (over)"]) for row in rows] == [
        ("Ada", "5", "2"), ("Bob", "5", "4"), ("Eve", "0", ""), ("Zoë", "", ""), ("", "5", "30"),
    ]  # fmt: skip
    assert rows[0]["submission"] == "ada-1"  # of equal points the better score
    assert rows[1]["feedback"] == "T-1: 5 of 5 (score: 4 over)"

    (title, table), *more = boards_of(grades).items()
    assert title == "T-1, add one" and more == []
    assert table == [
        ["place", "name", "over"],
        ["1", "ada-1", "2"], ["2", "bob", "4"], ["3", "ada-2", "30"], ["3", "twin", "30"],
        ["", "eve", "it isn't above the case: nothing was added"],
    ]  # fmt: skip

    for one in grades.graded:  # and where the highest is best
        if score := one.verdicts["T-1"].score:
            turned = replace(score, best="highest")
            one.verdicts["T-1"] = replace(one.verdicts["T-1"], score=turned)
    (table,) = boards_of(grades).values()
    assert [row[:2] for row in table[1:]] == [
        ["1", "ada-2"], ["1", "twin"], ["3", "bob"], ["4", "ada-1"], ["", "eve"],
    ]  # fmt: skip
    ada, *_ = rows_of(grades.graded, people)
    assert ada.one.name == "ada-2"


def test_the_program_writes_the_board_and_shows_it(small, tmp_path, monkeypatch, capsys, task):
    (tmp_path / "class" / "ada").mkdir(parents=True)
    verdict = Verdict(task, "pass", score=Score("", 1_835_008, "elements", best="lowest"))
    grades = Grades([task], [Graded("<b>ada", {"T-1": verdict})], {"T-1": 1})
    monkeypatch.setattr(program, "grade_all", lambda *_, **__: grades)
    arguments = ["DP-1", "--all", str(tmp_path / "class"), "--out", str(tmp_path)]
    assert program.main(arguments) == 0
    said = capsys.readouterr().out
    assert "T-1, add one\nplace  name    elements\n1      <b>ada  1,835,008\n" in said
    page = (tmp_path / "board.html").read_text(encoding="utf-8")
    assert "<td>1,835,008</td>" in page and "&lt;b&gt;ada" in page and "<b>" not in page


def test_names_and_reasons_fit_a_row_and_ties_share_a_place():
    entries = [Entry(name, (1.0,), ("x",)) for name in ("b", "a" * 80)]
    entries += [Entry("c\n", (0,), ("y",)), Entry("late", reason="no\x1b[2J file" * 200)]
    board = ranked(("score",), entries)
    assert [row[0] for row in board] == ["place", "1", "2", "2", ""]
    assert board[1][1] == "c" and len(board[2][1]) <= 60 and len(board[4][2]) <= 1_000
    assert "\x1b" not in in_text(board) and in_html({"T": board}).count("<tr>") == 5
    assert in_html({"T": board}).count('<td colspan="1" class="reason">no?[2J file') == 1
