import pytest

from helpers.grade import check, notebook
from helpers.grade.notebook import find_root
from helpers.grade.task import ROOT, TaskError
from helpers.grade.verdict import Verdict, table


def test_root_is_found_from_below(small):
    (small.root / "notebooks" / "deep").mkdir(parents=True)
    assert find_root(small.root / "notebooks" / "deep") == small.root
    assert find_root(small.root) == small.root


def test_root_elsewhere_is_this_repository(tmp_path):
    assert find_root(tmp_path) == ROOT


def test_check_grades_the_repository_around_the_notebook(small, monkeypatch, task):
    asked = []
    monkeypatch.setattr(
        notebook, "grade", lambda *given: asked.append(given) or Verdict(task, "crash", "it fell")
    )
    monkeypatch.chdir(small.root / "lab")
    verdict = check("T-1", hint=2)
    assert asked == [("T-1", small.root)]
    assert "Hint 2: second <hint>" in repr(verdict)


@pytest.mark.parametrize("hint", [0, 4, "1"])
def test_wrong_hint(hint):
    with pytest.raises(ValueError, match="hint must be a number from 1 to 3, not"):
        check("DP-1", hint=hint)


def test_unknown_task():
    with pytest.raises(TaskError, match="there is no task 'dp1': the tasks are .*DP-1"):
        check("dp1")


def test_text_of_a_pass(task):
    assert repr(Verdict(task, "pass", seconds=3.21)) == "T-1  PASS  add one  (3.2 s)"


def test_text_of_a_failure(task):
    assert repr(Verdict(task, "mistake", "look at the sign", seconds=1)).splitlines() == [
        "T-1  FAIL  add one  (1.0 s)",
        "  look at the sign",
        "  Hint 1: first hint",
        '  More help: check("T-1", hint=2)',
    ]
    assert repr(Verdict(task, "mistake", "x", hint=3)).splitlines()[-1] == "  Hint 3: third hint"


def test_html_says_it_in_words_and_escapes_what_others_wrote(task):
    html = Verdict(task, "crash", "<script>", hint=2)._repr_html_()
    assert ">FAIL<" in html
    assert "&lt;script&gt;" in html and "second &lt;hint&gt;" in html
    assert "<script>" not in html
    html = Verdict(task, "pass")._repr_html_()
    assert ">PASS<" in html and "hint" not in html


def test_table(task):
    verdicts = [Verdict(task, "pass", seconds=2.5), Verdict(task, "crash", "it fell", seconds=11)]
    assert table(verdicts).splitlines() == [
        "task  verdict    time  what",
        "T-1   PASS      2.5 s  add one",
        "T-1   FAIL     11.0 s  add one",
        "      it fell",
        "1 of 2 passed, 4 of 8 points",
    ]
