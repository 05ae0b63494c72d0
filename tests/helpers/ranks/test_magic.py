"""`%%ranks 3`: the cell runs on ranks, knows the notebook's names, and keeps its line numbers."""

import pytest
from IPython.core.interactiveshell import InteractiveShell

from helpers.ranks import load_ipython_extension
from helpers.ranks.magic import ranks_cell

pytestmark = pytest.mark.ranks


@pytest.fixture
def shell():
    shell = InteractiveShell.instance()
    load_ipython_extension(shell)
    yield shell
    InteractiveShell.clear_instance()


def test_a_cell_on_two_ranks(shell, capsys):
    shell.run_cell("scale = 10\ndef times(x):\n    return x * scale\n")
    shell.run_cell("%%ranks 2 --out results\nprint('here', rank, world_size)\ntimes(rank + 1)\n")
    assert shell.user_ns["results"] == [10, 20]
    assert "[rank 1] here 1 2" in capsys.readouterr().out


def test_the_failing_line_is_the_line_of_the_cell_and_nothing_else_is_shown(shell, capsys):
    shell.colors = "nocolor"
    shell.run_cell("%%ranks 1\nx = 1\nif rank == 0:\n    x / 0\n", store_history=True)
    shown = capsys.readouterr().out
    assert "RankFailed: rank 0 failed first at line 4 of cell [1]: ZeroDivisionError" in shown
    assert "x / 0" in shown and "helpers" not in shown


@pytest.mark.parametrize(
    ("line", "sentence"),
    [("three", "invalid int value: 'three'"), ("2 --fast", "unrecognized arguments: --fast")],
)
def test_nonsense_behind_the_magic(shell, line, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        ranks_cell(line, "rank", shell)
    assert "write %%ranks 3" in str(caught.value)


@pytest.mark.parametrize("line", ["x = = 1", "return 3", "print('a"])
def test_a_cell_that_is_not_python_is_shown_as_any_other_cell(shell, capsys, line):
    shell.colors = "nocolor"
    shell.run_cell(f"y = 1\n{line} # a comment\n", store_history=True)
    plain = capsys.readouterr().out
    assert f"  Cell In[1], line 2\n    {line} #" in plain and "^\nSyntaxError: " in plain
    shell.run_cell(f"%%ranks 2\n{line} # a comment\n", store_history=True)
    assert capsys.readouterr().out == plain.replace("In[1]", "In[2]")
