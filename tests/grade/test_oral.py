"""Orals by lot: a person's own functions, a question, and a line of theirs."""

from random import Random

import pytest

from helpers.grade.oral import done_in, line_of, main, questions, sheet
from helpers.grade.task import ROOT, all_tasks

TASKS = all_tasks()


@pytest.fixture
def class_of_two(tmp_path):
    """One has done DP-1 and DP-PP-2, the other handed in what can't be read."""
    for name, files in {"ada": ("DP/gradient_aggr/intro_DP_GA.py", "DP_PP/intro_DP_PP.py")}.items():
        for file in files:
            (target := tmp_path / "class" / name / file).parent.mkdir(parents=True)
            target.write_text((ROOT / file).read_text(encoding="utf-8"), encoding="utf-8")
    (other := tmp_path / "class" / "bob" / "DP_PP" / "intro_DP_PP.py").parent.mkdir(parents=True)
    other.write_text("def train(:", encoding="utf-8")
    (tmp_path / "secret").write_text("lot", encoding="utf-8")
    return tmp_path


def test_every_task_has_a_question_and_what_to_listen_for():
    found = questions()
    assert {task.id for task in TASKS} - set(found) <= {"PZ-2"}  # PZ-1 and PZ-2 share one
    assert all("Listen for" in words for words in found.values())


def test_a_sheet_shows_ones_own_code_evidence_first_and_the_lot_is_the_secrets(class_of_two):
    work = done_in(class_of_two / "class" / "ada", TASKS)
    assert {"DP-1", "DP-PP-1", "DP-PP-2"} <= set(work)
    pages = [sheet("ada", work, TASKS, 2, secret) for secret in "abcdef"]
    assert sheet("ada", work, TASKS, 2, "a") == pages[0] and len(set(pages)) > 1
    assert all(page.index("DP-PP-2") < page.rindex("<h2>") for page in pages)
    assert line_of("def f(x):\n    y = 1\n    x += y\n    return x", Random(1)) == "x += y"


def test_a_class_has_its_pages_and_what_cannot_be_read_runs_nothing(class_of_two, capsys):
    out = class_of_two / "orals.html"
    arguments = [str(class_of_two / "class"), "--secret", str(class_of_two / "secret")]
    assert main([*arguments, "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert text.count("<article>") == 2 and "nothing is begun" in text.partition("bob")[2]
    (class_of_two / "secret").write_text("", encoding="utf-8")
    assert main(arguments) == 2 and "needs a line in it" in capsys.readouterr().err
    assert main([str(class_of_two / "none"), *arguments[1:]]) == 2
