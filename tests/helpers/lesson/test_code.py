"""`show_code`: a solution stands under a fold, and what is not there is named.

The executed lessons show functions, lines and diffs.
"""

import html
import re

import pytest

from helpers.lesson.code import code

TEXT = '''"""A script."""

import torch
from simplellm.options import (
    settle,
)


def read_flags(arguments=None):
    return settle(arguments)


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
SOLUTION = "# BEGIN SOLUTION T-1\n        y = self.next(x) + 1\n        # END SOLUTION"
STUB = """raise NotImplementedError(
            "Task T-1: pass. "
            "Write it."
        )"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "helpers" / "check").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ring.py"
    path.write_text(TEXT.replace("BODY", SOLUTION))
    return path


def words(shown: str) -> str:
    return html.unescape(re.sub("<.*?>", "", shown))


def test_a_solution_stands_under_a_fold_and_a_stub_is_a_comment(script):
    for name in ("", "Ring", "Ring.pass_on"):
        seen, _, fold = code("ring.py", name).html.partition("<details")
        assert "...  # task T-1: yours" in words(seen) and "next(x)" not in words(seen)
        assert "y = self.next(x) + 1" in words(fold) and "SOLUTION" not in seen + fold
        assert "next(x)" not in repr(code("ring.py", name))
    script.write_text(TEXT.replace("BODY", STUB))
    shown = code("ring.py", "Ring.pass_on").html
    assert words(shown).endswith("def pass_on(self, x):\n    ...  # task T-1: yours")


@pytest.mark.parametrize(
    "given, said",
    [
        (("Rng",), "ring.py has no 'Rng': it has read_flags, Ring, Ring.pass_on, Ring.size"),
        (("Ring", "third"), "no line of ring.py begins with 'third'"),
        (("Ring.size", "second", "first"), "no line of ring.py begins with 'first'"),
    ],
)
def test_what_is_not_there_is_named(script, given, said):
    with pytest.raises(ValueError, match=said):
        code("ring.py", *given)
    with pytest.raises(FileNotFoundError, match="There is no file 'no.py', neither in this folder"):
        code("no.py")
