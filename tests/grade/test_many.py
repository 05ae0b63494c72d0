"""Forty folders, one command: a bad one stops nothing, and an interrupt keeps what there is."""

import csv
import io
import itertools
import json
import os
import threading
import zipfile
from xml.etree import ElementTree

import pytest

from helpers.grade import __main__ as program
from helpers.grade import many
from helpers.grade.html import html_of
from helpers.grade.limits import Held
from helpers.grade.many import Graded, Grades, grade_all
from helpers.grade.submitted import SubmissionError, names, opened, refused, submissions, unzip
from helpers.grade.tables import csv_of, junit_of, text_of, verdicts_csv_of
from helpers.grade.verdict import Verdict

GOOD = "def add_one(number):\n    return number + 1\n"
BAD = "def add_one(number):\n    return number - 1\n"
LEAVES = "import os\n\ndef add_one(number):\n    os._exit(0)\n"


@pytest.fixture
def class_of(small, tmp_path):
    """A folder of submissions of every kind."""
    folder = tmp_path / "submissions"

    def put(name, text):
        path = folder / name / "lab" / "work.py"
        path.parent.mkdir(parents=True)
        path.write_text(text)

    put("ada", GOOD)
    put("bob/inside/another", BAD)
    put("eve", LEAVES)
    (folder / "nobody").mkdir()
    with zipfile.ZipFile(folder / "grace.zip", "w") as archive:
        archive.writestr("homework/lab/work.py", GOOD)
    (folder / "mallory.zip").write_bytes(b"PK no zip")
    (folder / "notes.txt").write_text("not a submission")
    (folder / ".hidden").mkdir()
    return folder


def test_every_submission_gets_a_verdict_whatever_the_others_are(class_of, small):
    told = []
    grades = grade_all(
        submissions(class_of),
        ["T-1"],
        jobs=2,
        seed=7,
        done=lambda grades, one: told.append(one.name),
        folder=small.tasks,
    )
    kinds = {one.name: one.verdicts["T-1"].kind for one in grades.graded}
    assert kinds == {
        "ada": "pass",
        "bob": "mistake",
        "eve": "crash",
        "grace": "pass",
        "mallory": "no file",
        "nobody": "no file",
        "notes.txt": "no file",
    }
    assert sorted(told) == list(kinds) and not grades.interrupted
    assert grades.seeds == {"T-1": 7}
    assert [one.points for one in grades.graded] == [4, 0, 0, 4, 0, 0, 0]
    reasons = {one.name: one.verdicts["T-1"].reason for one in grades.graded}
    assert reasons["mallory"].startswith("mallory.zip cannot be unpacked: ")
    assert reasons["notes.txt"] == "not graded: notes.txt is not a folder or a .zip"
    assert reasons["nobody"] == "there is no file lab/work.py in the graded folder"


def test_an_interrupt_ends_the_checks_and_keeps_what_there_is(class_of, small, monkeypatch, task):
    calls, stopped, in_time = itertools.count(), threading.Event(), []

    def slow(task_id, root, **_):
        if next(calls):  # all but the first one last until they are stopped
            in_time.append(stopped.wait(60))
        return Verdict(task, "pass")

    def done(grades, one):
        raise KeyboardInterrupt

    monkeypatch.setattr(many, "grade", slow)
    monkeypatch.setattr(many, "stop_judges", stopped.set)
    grades = grade_all(submissions(class_of), ["T-1"], jobs=1, done=done, folder=small.tasks)
    assert grades.interrupted and stopped.is_set() and all(in_time)
    assert [bool(one.verdicts) for one in grades.graded][0]
    assert not all(one.verdicts for one in grades.graded)


def test_a_grader_that_breaks_is_a_verdict_too(class_of, small, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("boom")

    monkeypatch.setattr(many, "grade", broken)
    grades = grade_all(submissions(class_of)[:1], ["T-1"], folder=small.tasks)
    verdict = grades.graded[0].verdicts["T-1"]
    assert (verdict.kind, verdict.reason) == ("check", "the grader failed: RuntimeError: boom")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("../out.txt", "wants to write outside of its folder"), ("/out.txt", "wants to write outsi"),
     ("a/../../out.txt", "wants to write outside"), ("C:/out.txt", "wants to write outside"),
     ("a/C:/out.txt", "holds a name with ':' .*: rename"), ("a/b.py:x", "holds a name with ':'")],
)  # fmt: skip
def test_a_zip_that_wants_out(tmp_path, name, sentence):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(name, "x")
    with pytest.raises(SubmissionError, match=f"x.zip {sentence}"):
        unzip(tmp_path / "x.zip", tmp_path / "deep" / "er")
    assert not (tmp_path / "out.txt").exists() and not (tmp_path / "deep" / "out.txt").exists()


def test_a_zip_that_is_a_bomb_and_one_with_a_link(tmp_path, monkeypatch):
    monkeypatch.setattr("helpers.grade.submitted.MOST_BYTES", 1000)
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(2000))
    with pytest.raises(SubmissionError, match="x.zip unpacks to more than .* this is no submissio"):
        unzip(tmp_path / "x.zip", tmp_path / "to")
    link = zipfile.ZipInfo("link.py")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "y.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("b.py", "x")
    unzip(tmp_path / "y.zip", tmp_path / "to")
    assert os.listdir(tmp_path / "to") == ["b.py"]


def test_a_folder_that_holds_one_zip(tmp_path):
    (tmp_path / "ada").mkdir()
    with zipfile.ZipFile(tmp_path / "ada" / "DP.zip", "w") as archive:
        archive.writestr("lab/work.py", GOOD)
    with opened(tmp_path / "ada", ["lab/work.py"]) as root:
        assert (root / "lab" / "work.py").read_text() == GOOD


def test_a_link_is_no_submission_and_nothing_in_one(tmp_path, task):
    folder = tmp_path / "submissions"
    (folder / "eve").mkdir(parents=True)
    with zipfile.ZipFile(folder / "ada.zip", "w") as archive:
        archive.writestr("lab/work.py", GOOD)
    (folder / "eve" / "x.zip").symlink_to("../ada.zip")
    (folder / "eva").symlink_to("eve")
    with (
        pytest.raises(SubmissionError, match="^x.zip is a link, and links are not followed"),
        opened(folder / "eve", ["lab/work.py"]),
    ):
        pass
    refusals = [refused(path) for path in submissions(folder)]
    assert refusals == ["", "not graded: eva is a link, and links are not followed", ""]


def test_names_can_be_told_apart(tmp_path):
    for name in ("ada", "bob"):
        (tmp_path / name).mkdir()
    for name in ("Ada.zip", "eve.ZIP"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "bob.txt").write_text("")
    assert sorted(names(submissions(tmp_path))) == ["Ada.zip", "ada", "bob", "bob.txt", "eve"]


def test_a_folder_of_other_things_holds_no_submission(tmp_path):
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(SubmissionError, match="holds no submission: put a folder or a zip file"):
        submissions(tmp_path)


# --- tables --------------------------------------------------------------------------------------


@pytest.fixture
def grades(task):
    held = Held({"time": "60 s"}, ["network"])
    signs = ("line 1 names gc", "line 2 names <x>")
    wrong = Verdict(task, "mistake", "<script>alert(1)</script>", "Trace\x07back", seconds=2,
                    look_at=signs)  # fmt: skip
    picture = Verdict(task, "time-out", "both wait", picture=("<svg/>", "who 'waits'"))
    return Grades(
        [task],
        [
            Graded("=ada", {"T-1": Verdict(task, "pass", seconds=1, limits=held)}),
            Graded("b<ob", {"T-1": wrong}),
            Graded("eve", {"T-1": picture}),
            Graded("late"),
        ],
        {"T-1": 1},
        seconds=3,
        interrupted=True,
    )


def test_csv(grades):
    rows = list(csv.reader(io.StringIO(csv_of(grades))))
    assert rows == [
        ["submission", "points", "of", "T-1", "look at", "limits"],
        # a spreadsheet would compute what begins with "="
        ["'=ada", "4", "4", "4", "", "held: time (60 s); not held here: network"],
        ["b<ob", "0", "4", "0", "T-1", ""],
        ["eve", "0", "4", "0", "", ""],
        ["late", "0", "4", "", "", ""],
    ]
    rows = list(csv.DictReader(io.StringIO(verdicts_csv_of(grades))))
    assert [row["kind"] for row in rows] == ["pass", "mistake", "time-out"]
    assert rows[1]["reason"] == "<script>alert(1)</script>"
    assert rows[1]["look at"] == "line 1 names gc; line 2 names <x>"
    assert rows[0]["limits"] == "held: time (60 s); not held here: network"


def test_junit_is_xml_that_others_read(grades):
    suites = {one.name: list(one.verdicts.values()) for one in grades.graded}
    tree = ElementTree.fromstring(junit_of(suites).encode())
    assert [suite.get("failures") for suite in tree] == ["0", "1", "1", "0"]
    (case,) = tree[1]
    failure = case.find("failure")
    assert case.get("name") == "T-1" and failure.get("message") == "<script>alert(1)</script>"
    assert failure.text == "Trace?back"
    said = [[(p.get("name"), p.get("value")) for p in suite.iter("property")] for suite in tree]
    assert said == [
        [("limits", "held: time (60 s); not held here: network")],
        [("look at", "line 1 names gc; line 2 names <x>")],
        [],
        [],
    ]


def test_text(grades):
    assert text_of(grades).splitlines() == [
        "submission  points  not passed",
        "=ada          4/4",
        "b<ob          0/4   T-1",
        "eve           0/4   T-1",
        "late          0/4    (1 not graded)",
        "not held here: network",
    ]


def test_html_holds_no_script_and_nothing_from_elsewhere(grades):
    page = html_of(grades, "A & B")
    assert "<script" not in page and "http://" not in page and "https://" not in page
    assert "&lt;script&gt;" in page and "b&lt;ob" in page and "A &amp; B" in page
    assert "Content-Security-Policy" in page
    assert 'alt="who &#x27;waits&#x27;"' in page and "data:image/svg+xml;base64," in page
    assert "Stopped by hand" in page


def test_the_program_writes_its_tables_and_says_where(class_of, monkeypatch, capsys, tmp_path):
    def instead(paths, ids, jobs, seed, done, seconds, gigabytes):
        assert (ids, jobs, seed, seconds) == (["DP-1"], 3, 5, 9)
        grades = Grades([], [Graded(path.stem) for path in paths], {}, interrupted=False)
        done(grades, grades.graded[0])
        return grades

    monkeypatch.setattr(program, "grade_all", instead)
    out = tmp_path / "tables"
    arguments = ["DP-1", "--all", str(class_of), "--out", str(out), "--jobs", "3", "--seed", "5"]
    assert program.main([*arguments, "--seconds", "9"]) == 0
    names = ["grades.csv", "grades.html", "grades.json", "verdicts.csv"]
    assert sorted(os.listdir(out)) == names
    assert json.loads((out / "grades.json").read_text())["interrupted"] is False
    said = capsys.readouterr()
    assert f"7 submissions in 0 s; see {out}" in said.out
    assert "ada: 0 of 0 points" in said.err
