"""From submissions to people: whose each is, who is missing, which counts."""

import csv
import io
import json

import pytest

from helpers.grade import __main__ as program
from helpers.grade import roster
from helpers.grade.people import assign, read_roster, who

OWN = "Name,ID,Email\nAda Lovelace,a1,ada@uni.edu\nGrace Hopper,g2,grace@uni.edu\nZoë Ng,z3,\n"
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Lab 0 (7)\n    Points Possible,,,,,10\n"
    '"Lovelace, Ada",11,A1,ada,01,3\n"Hopper, Grace",12,A2,grace,01,\n"Student, Test",99,,x,01,\n'
)


def write(folder, text: str):
    path = folder / "roster.csv"
    path.write_text("\ufeff" + text, encoding="utf-8")
    return path


def one(name: str, points: int, handed_in: str = "", says: str = "") -> dict:
    verdict = {"task": "T-1", "passed": points > 0, "kind": "pass" if points else "mistake"}
    verdict |= {"points": points, "of": 4, "reason": "" if points else "a < b: the last is lost"}
    facts = {"name": name, "points": points, "of": 4, "verdicts": [verdict]}
    return facts | {"handed in": handed_in, "says": says}


@pytest.mark.parametrize(
    ("name", "says", "whose"),
    [("ada", "", "Ada"), ("a1", "", "Ada"), ("ada@uni.edu-2", "", "Ada"), ("ada (3)", "", "Ada"),
     ("Ada-Lovelace_DP", "", "Ada"), ("lovelaceada_LATE_77_88_x", "", "Ada"), ("zoe ng", "", "Zoë"),
     ("Grace Hopper_812_assignsubmission_file", "Grace Hopper", "Grace"),
     ("upload", "Ada Lovelace", "Ada"), ("upload", "", None), ("upload", "Eve", None)],
)  # fmt: skip
def test_whose_a_submission_is(tmp_path, name, says, whose):
    person, _ = who(name, says, read_roster(write(tmp_path, OWN)))
    assert (person and person.name.split()[0]) == whose


def test_a_login_that_ends_like_another_attempt(tmp_path):
    people = read_roster(write(tmp_path, "login\ngroup-12\ngroup-13\n"))
    assert who("group-12", "", people)[0] is people[0]
    assert who("group-13-2.zip", "", people)[0] is people[1]


def test_canvas_names_a_student_by_number_and_a_name_that_fits_two_is_nobodys(tmp_path):
    people = read_roster(write(tmp_path, CANVAS))
    assert [person.name for person in people] == ["Lovelace, Ada", "Hopper, Grace"]
    assert who("lovelaceada_LATE_11_88_grace", "", people)[0] is people[0]
    assert who("somebody_12_88_ada", "", people)[0] is people[1]
    assert who("hoppergrace_11_88_x", "", people) == (
        None, "its name fits Lovelace, Ada and Hopper, Grace",
    )  # fmt: skip
    assert who("ada", "Grace Hopper", people) == (people[0], "the zip says it is from Grace Hopper")


def test_the_best_of_several_counts(tmp_path):
    people = read_roster(write(tmp_path, OWN + "=1+1,@z4,\n"))
    grades = {"submissions": [one("ada-1", 0), one("ada-2", 4), one("ada-3", 3), one("=evil", 4)]}
    nobody = assign(grades, people)
    assert people[0].counted["name"] == "ada-2" and people[1].counted is None
    rows = list(csv.DictReader(io.StringIO(roster.class_csv(grades, people, nobody))))
    assert [row["points"] for row in rows] == ["4", "", "", "", "4"]
    assert rows[2]["note"] == "handed in nothing" and rows[4]["submission"] == "'=evil"
    assert [rows[3][head] for head in ("name", "id")] == ["'=1+1", "'@z4"]


def test_words_that_the_work_has_chosen_are_in_no_feedback(tmp_path):
    people = read_roster(write(tmp_path, OWN))
    crashed = one("ada", 0)
    crashed["verdicts"][0] |= {"kind": "crash", "reason": "ValueError: <script>"}
    assign({"submissions": [crashed]}, people)
    assert "T-1: 0 of 4 (crash)" in roster.moodle_csv(people, "DP")


def test_an_empty_folder_is_not_handed_in(tmp_path):
    people = read_roster(write(tmp_path, OWN))
    nothing, something = one("ada", 0), one("grace", 0, handed_in="2026-10-12T23:59")
    for each in (nothing, something):
        each["verdicts"][0] |= {"kind": "no file"}
    assert assign({"submissions": [nothing, something]}, people) == []
    assert [person.name for person in people if person.attempts] == ["Grace Hopper"]


def test_canvas_gets_its_own_columns_back(tmp_path):
    people = read_roster(write(tmp_path, CANVAS))
    assign({"submissions": [one("ada", 4)]}, people)
    assert list(csv.reader(io.StringIO(roster.canvas_csv(people, "Lab DP (78)")))) == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Lab DP (78)"],
        ["    Points Possible", "", "", "", "", "4"],
        ["Lovelace, Ada", "11", "A1", "ada", "01", "4"],
        ["Hopper, Grace", "12", "A2", "grace", "01", ""],
    ]


def test_the_program_reads_grades_again_and_moodle_gets_points_with_their_feedback(
    tmp_path, capsys
):
    grades = {"submissions": [one("ada", 0), one("who", 4)]}
    (tmp_path / "grades.json").write_text(json.dumps(grades))
    arguments = [str(tmp_path / "grades.json"), str(write(tmp_path, OWN)), "--title", "DP"]
    assert roster.main(arguments) == 0
    said = capsys.readouterr().out
    assert "1 of 3 people handed in" in said and "nothing: Grace Hopper, Zoë Ng" in said
    assert "from nobody on the roster: who" in said and not (tmp_path / "canvas.csv").exists()
    text = (tmp_path / "moodle.csv").read_text(encoding="utf-8")
    assert text.startswith("\ufeff")  # without it Excel reads Zoë as ZoÃ«
    rows = list(csv.reader(io.StringIO(text[1:])))
    assert rows == [
        ["Email address", "ID number", "DP", "DP (feedback)"],
        ["ada@uni.edu", "a1", "0", "T-1: 0 of 4 (a &lt; b: the last is lost)"],
    ]


@pytest.mark.parametrize(
    ("text", "flags", "words"),
    [("color\nred\n", [], "names nobody: its first row needs at least one of the columns name"),
     ("", [], "names nobody")],
)  # fmt: skip
def test_a_roster_that_cannot_be_used(tmp_path, capsys, text, flags, words, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grades.json").write_text('{"submissions": []}')
    assert roster.main(["grades.json", str(write(tmp_path, text)), *flags]) == 2
    assert words in capsys.readouterr().err
    (tmp_path / "class" / "ada").mkdir(parents=True)
    monkeypatch.setattr(program, "grade_all", None)  # not after hours of grading
    assert program.main(["DP-1", "--all", "class", "--roster", "roster.csv", *flags]) == 2
    assert words in capsys.readouterr().err
