"""What a class is shown as: CSV, JSON and text, in which nothing can be hidden."""

import csv
import io
import json

import pytest

from helpers.grade.limits import Held
from helpers.grade.many import Graded, Grades, json_of
from helpers.grade.tables import csv_of, safe, struggles_of, text_of
from helpers.grade.verdict import Verdict, table

EVIL = "<script>alert(1)</script>"
HELD = "held: time (60 s); not held here: network"


@pytest.fixture
def grades(task):
    right = Verdict(task, "pass", seconds=1, limits=Held({"time": "60 s"}, ["network"]))
    wrong = Verdict(task, "mistake", EVIL, "Trace\x07back")
    picture = Verdict(task, "time-out", "both wait", picture=("<svg/>", "who 'waits'"))
    found = {"=ada": right, "b<ob": wrong, "eve": picture}
    graded = [Graded(name, {"T-1": verdict}) for name, verdict in found.items()]
    return Grades([task], [*graded, Graded("late")], {"T-1": 1}, seconds=3, interrupted=True)


def test_csv(grades):
    assert list(csv.reader(io.StringIO(csv_of(grades)))) == [
        ["submission", "points", "of", "T-1", "feedback", "limits", "note"],
        # a spreadsheet would compute what begins with "="
        ["'=ada", "5", "5", "5", "T-1: 5 of 5", HELD, ""],
        ["b<ob", "0", "5", "0", f"T-1: 0 of 5 ({EVIL})", "", ""],
        # of a time-out the words may be the work's: they are for the teacher
        ["eve", "0", "5", "0", "T-1: 0 of 5 (time-out)", "", "T-1: both wait"],
        ["late", "0", "5", "", "", "", ""],
    ]


def test_what_a_spreadsheet_would_compute_is_text_for_it():
    """Also where it takes another sign than a comma for the end of a cell."""
    cells = ["=1", "+1", "-1", "@a", "\t=1", "\r=1", "a;=1", "a,=1", "a\t@b", "a = 1", "DP-1; -", 7]
    assert [safe(cell) for cell in cells] == [
        "'=1", "'+1", "'-1", "'@a", "'\t'=1", "'\r'=1", "a;'=1", "a,'=1", "a\t'@b", "a = 1",
        "DP-1; -", 7,
    ]  # fmt: skip


def test_json_and_text(grades):
    facts = json.loads(json_of(grades))
    assert facts["interrupted"] and facts["seeds"] == {"T-1": 1}
    assert [len(one["verdicts"]) for one in facts["submissions"]] == [1, 1, 1, 0]
    lines = text_of(grades).splitlines()
    assert lines[1].split() == ["=ada", "5/5"] and lines[2].split() == ["b<ob", "0/5", "T-1"]
    assert facts["submissions"][1]["verdicts"][0]["details"] == "Trace?back"
    assert lines[-2:] == ["late          0/5    (1 not graded)", "not held here: network"]


def test_where_the_class_struggled(grades, task):
    more = [("mistake", "both wait"), ("crash", ""), ("no file", ""), ("not done", "")]
    grades.graded += [Graded(kind, {"T-1": Verdict(task, kind, said)}) for kind, said in more]
    assert struggles_of(grades).splitlines() == [
        "where the class struggled: passed, begun, and the most frequent reasons",
        "T-1        1   5 of 7  add one",  # who wasn't graded isn't counted
        "         2 x both wait",
        "         1 x <script>alert(1)</script>",
    ]


def test_no_character_stops_a_table(task):
    """One half of a character, which UTF-8 can't hold, once cost everybody the grades."""
    evil = "a\ud800\x1b[2J\x9b\u202eb"
    verdict = Verdict(task, "crash", evil, details=evil, picture=("<svg/>", evil))
    grades = Grades([task], [Graded(f"{evil}\nada 10/10", {task.id: verdict})], {task.id: 1})
    texts = [csv_of(grades), json_of(grades), struggles_of(grades)]
    texts += [text_of(grades), table([verdict]), repr(verdict), verdict._repr_html_()]
    for text in texts:
        text.encode()
        assert not set("\x1b\x9b\u202e") & set(text)
    assert len(text_of(grades).splitlines()) == 2
