"""From submissions to people: whose each is, who is missing, which counts."""

import csv
import io
import json

import pytest

from helpers.grade import __main__ as program
from helpers.grade.many import Graded, Grades
from helpers.grade.roster import read_roster, who
from helpers.grade.tables import csv_of, text_of
from helpers.grade.verdict import Verdict

OWN = "Name,ID,Email\nAda Lovelace,a1,ada@uni.edu\nGrace Hopper,g2,grace@uni.edu\nZoë Ng,z3,\n"
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Lab 0 (7)\n    Points Possible,,,,,10\n"
    '"Lovelace, Ada",11,A1,ada,01,3\n"Hopper, Grace",12,A2,grace,01,\n"Student, Test",99,,x,01,\n'
)


def write(folder, text: str):
    path = folder / "roster.csv"
    path.write_text("\ufeff" + text, encoding="utf-8")
    return path


@pytest.fixture
def one(task):
    """Make a submission of one task: its name, whether it passed, and what the zip says."""

    def make(name: str, passed: bool = True, says: str = "", kind="mistake", handed_in=True):
        wrong = Verdict(task, kind, "a < b: the last is lost")
        return Graded(name, {"T-1": Verdict(task, "pass") if passed else wrong}, handed_in, says)

    return make


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


def table(task, graded, people) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_of(Grades([task], graded, {}), people))))


def test_a_row_for_each_person_then_what_is_nobodys(tmp_path, one, task):
    people = read_roster(write(tmp_path, OWN + "=1+1,@z4,\n"))
    graded = [one("ada-1", False), one("ada-2"), one("ada-3"), one("grace", False), one("=evil")]
    rows = table(task, graded, people)
    assert [row["submission"] for row in rows] == ["ada-2", "grace", "", "", "'=evil"]
    assert [row["points"] for row in rows] == ["5", "0", "", "", "5"]
    assert [row["note"] for row in rows] == [
        "the best of 3", "", "handed in nothing", "handed in nothing", "nobody on the roster",
    ]  # fmt: skip
    assert list(rows[0].items())[:5] == [
        ("name", "Ada Lovelace"), ("id", "a1"), ("login", ""), ("email", "ada@uni.edu"),
        ("submission", "ada-2"),
    ]  # fmt: skip
    assert [rows[3][head] for head in ("name", "id")] == ["'=1+1", "'@z4"]
    assert rows[1]["feedback"] == "T-1: 0 of 5 (a &lt; b: the last is lost)"  # Moodle's is HTML


def test_words_that_the_work_has_chosen_are_in_no_feedback(tmp_path, one, task):
    crashed = one("ada", False, kind="crash")
    crashed.verdicts["T-1"] = Verdict(task, "crash", "ValueError: <script>")
    row, *_ = table(task, [crashed], read_roster(write(tmp_path, OWN)))
    assert row["feedback"] == "T-1: 0 of 5 (crash)"
    assert row["note"] == "T-1: ValueError: <script>"


def test_an_empty_folder_is_not_handed_in(tmp_path, one, task):
    """Nobody's either; without a roster the row says so."""
    people = read_roster(write(tmp_path, OWN))
    graded = [one(name, False, kind="no file", handed_in=False) for name in ("ada", "who")]
    graded.append(one("grace", False, kind="no file"))
    rows = table(task, graded, people)
    assert [row["submission"] for row in rows] == ["", "grace", ""]
    assert "1 of 3 people handed in" in text_of(Grades([task], graded, {}), people)
    assert [(row["points"], row["note"]) for row in table(task, graded, [])] == [
        ("", "handed in nothing"), ("", "handed in nothing"), ("0", ""),
    ]  # fmt: skip


def test_the_program_says_who_is_missing(tmp_path, capsys, one, task, monkeypatch):
    (tmp_path / "class" / "ada").mkdir(parents=True)
    grades = Grades([task], [one("ada", False), one("who", says="Eve")], {"T-1": 1})
    monkeypatch.setattr(program, "grade_all", lambda *_, **__: grades)
    arguments = ["DP-1", "--all", str(tmp_path / "class"), "--out", str(tmp_path)]
    assert program.main([*arguments, "--roster", str(write(tmp_path, OWN)), "--json"]) == 0
    document, said = capsys.readouterr()
    assert [each["name"] for each in json.loads(document)["submissions"]] == ["ada", "who"]
    assert "1 of 3 people handed in" in said and "nothing: Grace Hopper, Zoë Ng" in said
    assert "from nobody on the roster: who" in said
    text = (tmp_path / "grades.csv").read_text(encoding="utf-8")
    assert text.startswith("\ufeffname,id")  # without it Excel reads Zoë as ZoÃ«
    assert not (tmp_path / "board.html").exists()  # no score, no board
    assert text.endswith(",,nobody on the roster; the zip says it is from Eve\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [("color\nred\n", "names nobody: its first row needs at least one of the columns name"),
     ("", "names nobody")],
)  # fmt: skip
def test_a_roster_that_cannot_be_used(tmp_path, capsys, text, words, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "class" / "ada").mkdir(parents=True)
    monkeypatch.setattr(program, "grade_all", None)  # not after hours of grading
    arguments = ["DP-1", "--roster", str(write(tmp_path, text))]
    assert program.main([*arguments, "--all", "class"]) == 2
    assert words in capsys.readouterr().err
    assert program.main(arguments) == 2
    assert "--roster needs --all" in capsys.readouterr().err
