"""What a passed verdict shows of the code: the student's lines, and one way to write them."""

import pytest

from helpers.grade import notebook
from helpers.grade.folder import write_folder
from helpers.grade.leaks import leaked, pieces_of
from helpers.grade.marks import find_regions
from helpers.grade.notebook import check
from helpers.grade.student import student_edition
from helpers.grade.verdict import Verdict
from helpers.grade.written import ONE_WAY, solved_functions, without_docstring, written_html
from tests.helpers.lesson.test_code import words

MINE = '''
def add_one(number):
    """The number plus one."""
    return sum([number, 1])  # 1 < 2
'''


def test_with_the_solutions_it_is_under_a_fold_from_the_start(small, task):
    shown = written_html(task, small.root)
    assert shown.startswith('<details class="lab-fold"><summary')
    assert words(shown).startswith(f"{ONE_WAY}def add_one(number):\n    added_by_hand = number + 1")
    assert "SOLUTION" not in shown and "plus one" not in shown


@pytest.mark.parametrize("with_references", [True, False])
def test_a_student_sees_their_own_lines_and_then_the_fold(small, task, tmp_path, with_references):
    out = tmp_path / "student"
    write_folder(out, student_edition(small.root, with_references).files)
    (out / task.file).write_text(MINE)
    mine, _, fold = written_html(task, out).partition("<details")
    assert words(mine).startswith(f"Your lines in {task.file}:def add_one(number):\n    return sum")
    assert "# 1 < 2" in words(mine)
    assert ("added_by_hand = number + 1" in words(fold)) == with_references == bool(fold)


@pytest.mark.parametrize("kind", ["pass", "not done", "mistake", "crash"])
def test_only_a_pass_shows_it(small, task, monkeypatch, kind):
    class Judge:
        def check(self, task_id, root):
            return Verdict(task, kind)

    monkeypatch.chdir(small.root)
    monkeypatch.setattr(notebook, "kept_judge", Judge)
    monkeypatch.setattr(notebook, "load_task", lambda task_id: small)
    monkeypatch.setattr(type(small), "task", task, raising=False)
    monkeypatch.setattr(notebook, "_after", lambda task: "")
    shown = check("T-1")._repr_html_()
    pieces = pieces_of(find_regions(small.work.read_text()))
    assert leaked(shown, pieces) == ("T-1" if kind == "pass" else None)


def test_each_solution_comes_with_the_function_around_it():
    text = """
class A:
    @staticmethod
    def f(x):
        '''Words.'''
        # BEGIN SOLUTION T-1
        return x
        # END SOLUTION

    def g(self):
        # BEGIN SOLUTION T-2
        pass
        # END SOLUTION
"""
    found = solved_functions(text, find_regions(text), "a.py")
    assert found.keys() == {"T-1", "T-2"} and found["T-1"].keys() == {"A.f"}
    source = "@staticmethod\ndef f(x):\n    '''Words.'''\n    return x"
    assert found["T-1"]["A.f"] == source
    assert without_docstring(source) == source.replace("    '''Words.'''\n", "")
    assert without_docstring("def g():\n    'all of it'") == "def g():\n    'all of it'"
