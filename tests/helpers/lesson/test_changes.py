"""`show_diff`: every line of the diff has its mark, in color and without."""

import re
from html import unescape

import pytest

from helpers.lesson import show_diff
from helpers.lesson.changes import COLORS, diff, folded, orders
from helpers.schedules import gpipe, one_f_one_b


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "before.py").write_text("a = 1\nloss = f(a)\nprint(loss)\n", encoding="utf-8")
    (tmp_path / "after.py").write_text("a = 1\nloss = f(a) < 2\n", encoding="utf-8")
    return "before.py", "after.py"


def test_the_plain_text_has_every_line_with_its_mark(scripts):
    assert repr(diff(*scripts)).splitlines() == [
        "From before.py to after.py: 1 lines new (+), 2 lines gone (-); "
        "docstrings, imports and flags are left out",
        "@@",
        " a = 1",
        "-loss = f(a)",
        "-print(loss)",
        "+loss = f(a) < 2",
    ]


def test_the_html_says_the_same_and_colors_new_and_gone_lines(scripts):
    shown = diff(*scripts)
    body = re.search("<pre[^>]*>(.*)</pre>", shown.html, re.DOTALL).group(1)
    assert unescape(re.sub("<[^>]+>", "", body)).splitlines() == repr(shown).splitlines()[1:]
    new, gone = (re.escape(COLORS[mark]) for mark in "+-")
    assert new != gone
    assert re.search(rf"<ins style=[^>]*{new}[^>]*>\+loss = f\(a\) &lt; 2</ins>", body)
    assert re.search(rf"<del style=[^>]*{gone}[^>]*>-print\(loss\)</del>", body)
    assert "<style" not in shown.html, "hidden in a notebook that is not trusted yet"


def test_context_is_the_number_of_lines_around_and_equal_scripts_are_said_to_be_equal(scripts):
    assert " a = 1" not in repr(diff(*scripts, context=0))
    assert repr(diff(scripts[0], scripts[0])) == "before.py and before.py are the same."


def test_the_solution_of_a_task_is_not_shown(scripts, tmp_path):
    lines = ["def f(a):", "    # BEGIN SOLUTION DP-1", "    return secret", "    # END SOLUTION"]
    (tmp_path / "after.py").write_text("\n".join(lines), encoding="utf-8")
    shown = diff(*scripts)
    assert "+    ...  # task DP-1: yours" in repr(shown).splitlines()
    assert "secret" not in repr(shown) + shown.html


def test_docstrings_imports_and_flags_are_folded():
    script = [
        '"""What it does."""',
        "import torch",
        "from simplellm.options import (",
        "    settle,",
        ")",
        "",
        "",
        "def read_flags(arguments=None):",
        "    return settle(arguments)",
        "",
        "",
        "def train(options):",
        '    """Train."""',
        "    return 1",
    ]
    assert folded("\n".join(script)) == ["def train(options):", "    return 1"]


def test_the_orders_of_two_schedules_stand_below_each_other_with_marks_where_they_differ():
    lines = repr(orders(gpipe(2, 2), one_f_one_b(2, 2))).splitlines()
    assert lines[1:] == [
        "rank 0  GPipe  F0 F1 B0 B1",
        "        1F1B   F0 F1 B0 B1",
        "rank 1  GPipe  F0 F1 B0 B1",
        "        1F1B   F0 B0 F1 B1",
        "                  ^^ ^^",
    ]


def test_a_missing_script_is_named(scripts):
    with pytest.raises(FileNotFoundError, match="There is no file 'primer/none.py', neither in"):
        show_diff("primer/none.py", "after.py")
