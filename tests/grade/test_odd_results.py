"""Whatever the work returns, the verdict is the work's: not the check's, and nobody else's."""

import errno
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from helpers.grade import __main__ as program
from helpers.grade import example, handin, many, record, student
from helpers.grade.html import html_of
from helpers.grade.many import Graded, Grades, grade_all, write_json
from helpers.grade.parcel import ParcelError, pack
from helpers.grade.run import grade
from helpers.grade.tables import csv_of, junit_of, text_of, verdicts_csv_of
from helpers.grade.verdict import Verdict, table
from helpers.grade.workshop_client import read_answer

EVIL = "a\ud800\x1b[2J\x9b\u202eb"


def graded(small, check, body, **more):
    """The verdict of a check that begins with `check`, which may read `answer`, on a body."""
    text = (small.tasks / "t_1.py").read_text()
    begin = "    if answer == submission.seed - 1"
    assert begin in text
    small.write("tasks/t_1.py", text.replace(begin, f"    {check}\n{begin}"))
    small.write("lab/work.py", f"def add_one(number):\n    return {body}\n")
    return grade("T-1", small.root, folder=small.tasks, **more)


def test_a_result_of_another_shape_is_not_a_failure_of_the_check(small):
    found = graded(small, "answer['sum'] += 0", "number + 1")
    assert found.kind == "crash"
    assert found.reason == (
        "the work returned something that the check can't read (TypeError: 'int' object is not "
        "subscriptable): return what the docstring of add_one says, and leave the functions of the "
        "check alone"
    )
    assert "answer['sum']" in found.details


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds a process to its memory")
def test_a_result_that_takes_the_judges_memory(small):
    found = graded(small, "bytes(answer)", "10**12")
    assert (found.kind, "takes more memory than a check may use" in found.reason) == ("limit", True)


@pytest.mark.parametrize(
    "said",
    [
        5,
        [],
        {"results": [], "more": 1},
        {"results": [], "texts": 5},
        {"results": [], "texts": [5]},
        {"kind": "crash", "sentence": 5},
        {"kind": [], "sentence": ""},
        {"sentence": "", "picture": b"<svg>"},
        {5: 6},
    ],
)
def test_an_answer_that_is_none(said):
    with pytest.raises(ParcelError, match="what came back is no result"):
        read_answer(pack(said))


@pytest.mark.parametrize("seed", [10**40, -(10**30), -1, 2**31, 0])
def test_any_whole_number_is_a_seed(small, seed):
    check = "import torch, numpy; torch.Generator().manual_seed(submission.seed)"
    check += "; numpy.random.RandomState(submission.seed)"
    found = graded(small, check, "number + 1", seed=seed)
    assert found.passed, found.reason


def test_no_character_stops_a_table(task):
    """One half of a character, which UTF-8 cannot hold, once cost everybody the grades."""
    verdict = Verdict(task, "crash", EVIL, details=EVIL, look_at=(EVIL,), picture=("<svg/>", EVIL))
    grades = Grades([task], [Graded(f"{EVIL}\nada 10/10", {task.id: verdict})], {task.id: 1})
    texts = [csv_of(grades), verdicts_csv_of(grades), write_json(grades), html_of(grades)]
    texts += [text_of(grades), table([verdict]), repr(verdict), verdict._repr_html_()]
    texts += [junit := junit_of({EVIL: [verdict]})]
    for text in texts:
        text.encode()
        assert not set("\x1b\x9b\u202e") & set(text)
    ElementTree.fromstring(junit)
    assert len(text_of(grades).splitlines()) == 2


def test_a_submission_that_cannot_be_opened_costs_nobody_else(small, tmp_path, monkeypatch):
    opened = many.opened

    def breaks(path, files):
        if path.name == "bob":
            raise ValueError("embedded null byte")
        return opened(path, files)

    monkeypatch.setattr(many, "opened", breaks)
    monkeypatch.setattr(many, "grade", lambda task_id, *_, **__: Verdict(task, "pass"))
    task = many.load_task("T-1", small.tasks).task
    for name in ("ada", "bob"):
        (tmp_path / name).mkdir()
    paths = [tmp_path / "ada", tmp_path / "bob"]
    ada, bob = grade_all(paths, ["T-1"], folder=small.tasks).graded
    assert ada.points == 4
    assert bob.verdicts["T-1"].reason == "a path holds a null byte; choose another name"


def test_where_nothing_can_be_written_a_sentence_says_so(tmp_path, capsys, monkeypatch):
    (tmp_path / "file").touch()
    (tmp_path / "class" / "ada").mkdir(parents=True)
    place = str(tmp_path / "file" / "x")
    monkeypatch.setattr(program, "grade_all", None)  # not after hours of grading
    assert program.main(["DP-1", "--all", str(tmp_path / "class"), "--out", place]) == 2
    assert example.main([place, "DP-1", "--count", "1"]) == 2
    assert example.main([str(tmp_path / "new"), "DP-1", "--count", "0"]) == 2
    assert student.main(["--out", place]) == 1
    assert student.main(["--out", "a\0b"]) == 1
    assert handin.main(["DP-1", "--out", "a\0b"]) == 2
    assert example.main(["a\0b", "DP-1"]) == 2

    def full(root, task):
        raise OSError(errno.EFBIG, "File too large")

    monkeypatch.setattr(handin, "_taken", full)
    assert handin.main(["DP-1", "--out", str(tmp_path / "x.zip")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 8 and all("Errno" not in line for line in said)
    assert said[-1].startswith("nothing was packed: File too large; choose another folder")


@pytest.mark.parametrize("flags", [["--memory", "inf"], ["--seconds", "inf"], ["--seconds", "nan"]])
def test_limits_that_cannot_be_meant(flags, capsys):
    assert program.main(["DP-1", *flags]) == 2
    assert flags[1] in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"tasks": {"DP-1": {"tries": 1e999}}}', '{"tasks": [1]}', "\0"]
)
def test_a_broken_record_is_begun_anew(text, tmp_path):
    (tmp_path / "progress.json").write_text(text)
    assert record.read_record(tmp_path / "progress.json") == {}
