"""`show_code` and `show_diff`: lines from a file, solutions under a fold, and clear refusals."""

import html
import re

import pytest

from helpers.lesson.code import COLORS, code, diff

TEXT = '''"""A script."""

import torch


class Ring:
    """Ranks < 9."""

    def pass_on(self, x):
        """Pass it on."""
        BODY

    def size(self):
        first = 1
        second = "<b>"  # as in HTML
        return first
'''
SOLUTION = ("# BEGIN SOLUTION T-1", "y = self.next(x) + 1", "return y", "# END SOLUTION")
STUB = ("raise NotImplementedError(", '    "Task T-1: pass. "', '    "Write it."', ")")


def with_body(lines: tuple[str, ...]) -> str:
    return TEXT.replace("BODY", "\n        ".join(lines))


@pytest.fixture
def script(tmp_path, monkeypatch):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "helpers" / "grade").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ring.py"
    path.write_text(with_body(SOLUTION))
    return path


def words(shown: str) -> str:
    return html.unescape(re.sub("<.*?>", "", shown))


def test_a_function_is_shown_as_it_stands_there_now(script):
    shown = code("ring.py", "Ring.size")
    lines = 'def size(self):\n    first = 1\n    second = "<b>"  # as in HTML\n    return first'
    assert repr(shown) == f"ring.py\n{lines}" and words(shown.html) == f"ring.py, Ring.size{lines}"
    assert "<b>" not in shown.html and "details" not in shown.html
    assert repr(code("ring.py", "Ring.size", "first", "second")).splitlines()[1:] == [
        "first = 1",
        'second = "<b>"  # as in HTML',
    ]
    script.write_text(TEXT.replace("first = 1", "first = 2"))
    assert "first = 2" in repr(code("ring.py", "Ring.size"))


def test_a_solution_stands_under_a_fold(script):
    for name in ("", "Ring", "Ring.pass_on"):
        seen, _, fold = code("ring.py", name).html.partition("<details")
        assert "...  # task T-1: yours" in words(seen) and "next(x)" not in words(seen)
        assert "y = self.next(x) + 1" in words(fold) and "SOLUTION" not in seen + fold
        assert "next(x)" not in repr(code("ring.py", name))


def test_a_stub_is_a_comment_and_nothing_is_under_a_fold(script):
    script.write_text(with_body(STUB))
    shown = code("ring.py", "Ring.pass_on").html
    assert words(shown).endswith("def pass_on(self, x):\n    ...  # task T-1: yours")


@pytest.mark.parametrize(
    "given, said",
    [
        (("Rng",), "ring.py has no 'Rng': it has Ring, Ring.pass_on, Ring.size"),
        (("Ring", "third"), "no line of ring.py begins with 'third'"),
        (("Ring.size", "second", "first"), "no line of ring.py begins with 'first'"),
    ],
)
def test_what_is_not_there_is_named(script, given, said):
    with pytest.raises(ValueError, match=said):
        code("ring.py", *given)
    with pytest.raises(FileNotFoundError):
        code("no.py")


BEFORE = """"What it did."
import torch
from simplellm.options import (
    settle,
)


def read_flags(arguments=None):
    return settle(arguments)


a = 1
loss = f(a)
print(loss)
"""


@pytest.fixture
def scripts(script, tmp_path):
    (tmp_path / "before.py").write_text(BEFORE)
    (tmp_path / "after.py").write_text(BEFORE.replace("it did", "it does")[:-13] + " < 2\n")
    return "before.py", "after.py"


def test_a_diff_has_every_line_with_its_mark_and_colors_new_and_gone_ones(scripts, tmp_path):
    title = (
        "From before.py to after.py: 1 lines new (+), 2 lines gone (-); "
        "docstrings, imports and flags are left out"
    )
    body = ["@@", " a = 1", "-loss = f(a)", "-print(loss)", "+loss = f(a) < 2"]
    assert repr(diff(*scripts)).splitlines() == [title, *body]
    page = diff(*scripts).html
    assert words(page) == title + "\n".join(body)
    assert f'{COLORS["+"]}">+loss = f(a) &lt; 2<' in page and f'{COLORS["-"]}">-print' in page
    assert " a = 1" not in repr(diff(*scripts, context=0))
    assert repr(diff(scripts[0], scripts[0])) == "before.py and before.py are the same."
    lines = ["def f(a):", "    # BEGIN SOLUTION DP-1", "    return secret", "    # END SOLUTION"]
    (tmp_path / "after.py").write_text("\n".join(lines))
    assert "+    ...  # task DP-1: yours" in repr(diff(*scripts)).splitlines()
    assert "secret" not in repr(diff(*scripts)) + diff(*scripts).html
