"""Many submissions, one command: a bad one stops nothing, and an interrupt keeps what there is."""

import csv
import io
import json
import os
import re
import time
import zipfile

import pytest

from helpers.grade import __main__ as program
from helpers.grade import many, sandbox, student
from helpers.grade.many import Graded, Grades, grade_all
from helpers.grade.submitted import SubmissionError, names, opened, refused, submissions, unzip
from helpers.grade.tables import csv_of
from helpers.grade.task import all_tasks, load_task
from helpers.grade.verdict import Verdict

pytestmark = pytest.mark.patient

GOOD = "def add_one(number):\n    return number + 1\n"
BAD = "def add_one(number):\n    return number - 1\n"
LEAVES = "import os\n\ndef add_one(number):\n    os.kill(os.getppid(), 9)\n    os._exit(0)\n"


@pytest.fixture
def class_of(small, tmp_path):
    """A folder of submissions of every kind."""
    folder = tmp_path / "submissions"
    for name, text in {"ada": GOOD, "bob/inside/another": BAD, "eve": LEAVES}.items():
        path = folder / name / "lab" / "work.py"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (folder / "nobody").mkdir()
    with zipfile.ZipFile(folder / "grace.zip", "w") as archive:
        archive.writestr("homework/lab/work.py", GOOD)
    (folder / "mallory.zip").write_bytes(b"PK no zip")
    (folder / "notes.txt").write_text("not a submission")
    (folder / "zoe").mkdir()  # who uploads the file alone
    (folder / "zoe" / "work.py").write_text(GOOD)
    (folder / ".hidden").mkdir()
    return folder


@pytest.mark.slow
def test_every_submission_gets_a_verdict_whatever_the_others_are(class_of, small):
    told = []
    paths, done = submissions(class_of), lambda grades, one: told.append(one.name)
    grades = grade_all(paths, ["T-1"], jobs=2, seed=7, done=done, folder=small.tasks)
    found = {one.name: one.verdicts["T-1"] for one in grades.graded}
    assert {name: verdict.kind for name, verdict in found.items()} == {
        "ada": "pass", "bob": "mistake", "eve": "crash", "grace": "pass",
        "mallory": "no file", "nobody": "no file", "notes.txt": "no file", "zoe": "pass",
    }  # fmt: skip
    assert sorted(told) == list(found) and not grades.interrupted and grades.seeds == {"T-1": 7}
    assert [one.points for one in grades.graded] == [5, 0, 0, 5, 0, 0, 0, 5]
    assert found["mallory"].reason.startswith("mallory.zip cannot be unpacked: ")
    assert found["notes.txt"].reason == "not graded: notes.txt is not a folder or a .zip"
    assert [one.name for one in grades.graded if not one.handed_in] == ["nobody"]
    assert found["nobody"].reason == "handed in nothing"
    rows = {row["submission"]: row for row in csv.DictReader(io.StringIO(csv_of(grades)))}
    assert rows["nobody"]["note"] == "handed in nothing" and rows["nobody"]["points"] == ""
    assert rows["notes.txt"]["note"] == found["notes.txt"].reason


@pytest.mark.slow
def test_an_interrupt_ends_the_checks_and_keeps_what_there_is(class_of, small):
    for name in ("bob", "eve"):
        work = next((class_of / name).rglob("work.py"))
        work.write_text("def add_one(number):\n    while True:\n        pass\n")

    def done(grades, one):
        raise KeyboardInterrupt

    begun = time.monotonic()
    grades = grade_all(submissions(class_of), ["T-1"], done=done, folder=small.tasks, seconds=300)
    assert time.monotonic() - begun < 200 and grades.interrupted
    assert grades.graded[0].points == 5 and not all(one.verdicts for one in grades.graded)


def test_what_breaks_for_one_is_the_verdict_of_one(class_of, small, monkeypatch, task):
    def breaks(path, files):
        if path.name == "bob":
            raise ValueError("embedded null byte")
        return opened(path, files)

    monkeypatch.setattr(many, "opened", breaks)
    monkeypatch.setattr(many, "judge", lambda *_: Verdict(task, "pass"))
    grades = grade_all(submissions(class_of)[:2], ["T-1"], folder=small.tasks)
    ada, bob = grades.graded
    assert ada.points == 5 and "a path holds a null byte" in bob.verdicts["T-1"].reason


# --- folders and zips ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [("../out.txt", "outside of its folder"), ("/out.txt", "outside of its folder"),
     ("a/../../out.txt", "outside of its folder"), ("C:/out.txt", "holds a name with ':'"),
     ("a/b.py:x", "holds a name with ':'")],
)  # fmt: skip
def test_a_zip_that_wants_out(tmp_path, name, words):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(name, "x")
    with pytest.raises(SubmissionError, match=f"x.zip .*{words}"):
        unzip(tmp_path / "x.zip", tmp_path / "deep" / "er")
    assert not list(tmp_path.rglob("out.txt"))


def test_bombs_and_links(tmp_path, monkeypatch):
    monkeypatch.setattr("helpers.grade.submitted.MOST_BYTES", 1000)
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(2000))
    with pytest.raises(SubmissionError, match="x.zip unpacks to more than"):
        unzip(tmp_path / "x.zip", tmp_path / "to")
    link = zipfile.ZipInfo("link.py")
    link.external_attr = 0o120777 << 16
    folder = tmp_path / "class"
    (folder / "eve").mkdir(parents=True)
    with zipfile.ZipFile(folder / "ada.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("b.py", "x")
    unzip(folder / "ada.zip", tmp_path / "to")
    assert os.listdir(tmp_path / "to") == ["b.py"]
    (folder / "eve" / "x.zip").symlink_to("../ada.zip")
    (folder / "eva").symlink_to("eve")
    with pytest.raises(SubmissionError, match="^x.zip is a link"), opened(folder / "eve", ["b.py"]):
        pass
    refusals = [refused(path) for path in submissions(folder)]
    assert [bool(refusal) for refusal in refusals] == [False, True, False]


def test_a_folder_that_holds_one_zip_and_one_that_holds_nothing(tmp_path):
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(SubmissionError, match="holds no submission: put a folder or a zip file"):
        submissions(tmp_path)
    (tmp_path / "ada").mkdir()
    with zipfile.ZipFile(tmp_path / "ada" / "DP.zip", "w") as archive:
        archive.writestr("lab/work.py", GOOD)
    with opened(tmp_path / "ada", ["lab/work.py"]) as root:
        assert (root / "lab" / "work.py").read_text() == GOOD
    (tmp_path / "Ada.zip").write_bytes(b"")
    (tmp_path / "eve.ZIP").write_bytes(b"")
    assert sorted(names(submissions(tmp_path))) == ["Ada.zip", "ada", "eve", "notes.txt"]


# --- the program ---------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch):
    """Notes what would be graded, and lets it pass, or fail where the root holds a file `fails`."""
    asked = []

    def judge(found, submission, seed, seconds, gigabytes):
        asked.append((found.task.id, submission.root, seconds))
        if (submission.root / "stops").exists() and len(asked) > 1:
            raise KeyboardInterrupt
        failed = (submission.root / "fails").exists()
        return Verdict(found.task, "crash" if failed else "pass", "it fell" if failed else "")

    monkeypatch.setattr(many, "judge", judge)
    return asked


def test_all_tasks_of_a_folder_or_those_of_a_lab_or_a_lesson(asked, tmp_path, capsys):
    assert program.main(["--root", str(tmp_path), "--seconds", "5"]) == 0
    assert asked == [(task.id, tmp_path, 5) for task in all_tasks()]
    assert re.search(r"^DP-1 +PASS", capsys.readouterr().out, re.MULTILINE)
    asked.clear()
    assert program.main(["DP", "tensor_parallel", "--root", str(tmp_path)]) == 0
    ids = [task_id for task_id, _, _ in asked]
    assert ids[:2] == ["DP-1", "DP-2"] and ids[-1] == "TP-3"


def test_a_failure_as_json_and_an_interrupt(asked, tmp_path, capsys):
    (tmp_path / "fails").touch()
    assert program.main(["DP-1", "--root", str(tmp_path), "--json"]) == 1
    document, table = capsys.readouterr()
    document = json.loads(document)
    assert (document["interrupted"], list(document["seeds"])) == (False, ["DP-1"])
    assert re.search("^DP-1 +FAIL", table, re.MULTILINE)
    (one,) = document["submissions"]
    assert (one["name"], one["points"]) == (tmp_path.name, 0)
    (said,) = one["verdicts"]
    assert (said["task"], said["passed"], said["reason"]) == ("DP-1", False, "it fell")
    assert (said["points"], said["of"]) == (0, load_task("DP-1").task.points)
    (tmp_path / "empty").mkdir()
    program.main(["DP-1", "--root", str(tmp_path / "empty"), "--json"])
    assert not json.loads(capsys.readouterr().out)["submissions"][0]["handed in"]
    broken = tmp_path / "empty" / "ada.zip"
    broken.write_text("PK")
    assert program.main(["DP-1", "--root", str(broken), "--json"]) == 1
    (one,) = json.loads(capsys.readouterr().out)["submissions"]
    assert (one["name"], one["handed in"], one["verdicts"][0]["kind"]) == ("ada", True, "no file")
    assert one["verdicts"][0]["reason"].startswith("ada.zip cannot be unpacked")
    (tmp_path / "stops").touch()
    asked.clear()
    assert program.main(["DP", "--root", str(tmp_path)]) == 130
    said = capsys.readouterr()
    assert "0 of 1 passed" in said.out and "stopped after 1 of " in said.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["DP-1", "XX-9"], "there is no task 'XX-9': the tasks are "),
        (["--root", "no/such/folder"], "there is no folder no/such/folder"),
        (["--seconds", "0"], "--seconds must be above 0, not 0"),
        (["--seconds", "inf"], "inf"), (["--seconds", "nan"], "nan"), (["--memory", "inf"], "inf"),
        (["--jobs", "0"], "--jobs must be at least 1, not 0"),
        (["--memory", "0.5"], "a check needs at least 1 GB of memory"),
        (["--all", "a", "--root", "b"], "give --all or --root, not both"),
        (["--all", "no/such/folder"], "there is no folder no/such/folder"),
        (["--all", "."], ". holds no submission: put a folder or a zip file for each person"),
    ],
)  # fmt: skip
def test_a_wrong_question(asked, arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert program.main(arguments) == 2
    said = capsys.readouterr()
    assert words in said.err and said.out == "" and asked == []


def test_what_a_student_checks_is_remembered_and_what_a_teacher_grades_is_not(
    asked, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("LAB_PROGRESS", str(tmp_path / "progress.json"))
    program.main(["DP-1", "--root", str(tmp_path)])
    assert "compared with itself" not in capsys.readouterr().out
    program.main(["DP-1"])  # in this clone
    assert "compared with itself" in capsys.readouterr().out
    assert not (tmp_path / "progress.json").exists()
    (tmp_path / "student").mkdir()
    monkeypatch.setattr(program, "find_root", lambda: tmp_path / "student")
    program.main(["DP-1"])
    assert "compared with itself" not in capsys.readouterr().out
    assert "DP-1" in (tmp_path / "progress.json").read_text()


@pytest.mark.slow
def test_the_limits_of_this_system_are_told(monkeypatch, capsys):
    assert program.main(["--limits"]) == (1 if sandbox.why_not() else 0)
    assert "held      time: 60 s\n" in capsys.readouterr().out
    monkeypatch.setattr(sandbox, "why_not", lambda: "no")
    assert program.main(["--limits"]) == 1
    said = capsys.readouterr().out
    assert all(f"NOT HELD  {name}\n" in said for name in ("files", "network", "user"))
    assert "Work would run as you, so it could read and change your files (no)" in said


def test_the_table_is_written_and_it_says_where(class_of, monkeypatch, capsys, tmp_path):
    def instead(paths, ids, jobs, seed, done, seconds, gigabytes):
        assert (ids, jobs, seed, seconds) == (["DP-1"], 3, 5, 9)
        grades = Grades([], [Graded(path.stem) for path in paths], {}, interrupted=False)
        done(grades, grades.graded[0])
        return grades

    monkeypatch.setattr(program, "grade_all", instead)
    out = tmp_path / "tables"
    arguments = ["DP-1", "--all", str(class_of), "--out", str(out), "--jobs", "3", "--seed", "5"]
    assert program.main([*arguments, "--seconds", "9"]) == 0
    assert sorted(os.listdir(out)) == ["grades.csv"]
    said = capsys.readouterr()
    # for Excel
    assert (out / "grades.csv").read_text("utf-8").startswith("\ufeffsubmission,")
    assert (
        f"8 submissions in 0 s; see {out}" in said.out
        and "the class struggled" in said.out
        and "ada: 0 of 0 points" in said.err
    )


def test_where_nothing_can_be_written_a_sentence_says_so(tmp_path, capsys, monkeypatch):
    (tmp_path / "file").touch()
    (tmp_path / "class" / "ada").mkdir(parents=True)
    place = str(tmp_path / "file" / "x")
    monkeypatch.setattr(program, "grade_all", None)  # not after hours of grading
    assert program.main(["DP-1", "--all", str(tmp_path / "class"), "--out", place]) == 2
    monkeypatch.setattr(student, "student_edition", lambda root, _: student.Edition())
    assert student.main(["--out", place]) == 1
    assert student.main(["--out", "a\0b"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 3 and all("Errno" not in line and "Trace" not in line for line in said)
