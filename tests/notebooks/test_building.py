"""From a source to an executed notebook: what it becomes, and what a failure says."""

import nbformat
import psutil
import pytest
from nbclient.exceptions import CellExecutionError

from notebooks import as_shown, main, read, run, texts

LESSON = """\
# %% [markdown]
# # Halving

# %% jupyter={"source_hidden": true}
from helpers.lesson import show
# %% tags=["time"]
# %%time
x = f(quick(40, 2), str(quick("a)", b[1])))  # fmt: skip
# %%
check("DP-1")
"""


def notebook_of(*cells):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])


def test_a_source_becomes_a_notebook_without_the_words_for_the_tools(tmp_path, capsys):
    source = tmp_path / "00_halving.py"
    source.write_text(LESSON, encoding="utf-8")
    title, first, second, card, check = texts(read(source))
    assert title == ("markdown", "# Halving", {})
    assert first[2] == {"jupyter": {"source_hidden": True}}
    assert second == ("code", '%%time\nx = f(40, str("a)"))', {"tags": ["time"]})
    assert card[0] == "markdown" and "Hint 1 for DP-1" in card[1]
    assert check[:2] == ("code", 'check("DP-1")')
    assert read(source, quick=True).cells[2].source == "%%time\nx = f(2, str(b[1]))"
    assert as_shown("quick((1, quick(2, 3)), 4)") == "(1, 2)"
    with pytest.raises(ValueError, match="never ends: quick"):
        as_shown("quick(1, (2)")
    with pytest.raises(SystemExit):
        main(["--check", "77"])
    assert "no lesson starts with '77'" in capsys.readouterr().err


@pytest.mark.slow
def test_what_cells_show_is_kept_and_what_no_reader_should_see_is_refused():
    drawn = "from helpers.draw import curves\ncurves({'loss': [3, 2]})"
    others = {*psutil.Process().children()}  # of tests before this one
    notebook = notebook_of("print(1)\nprint(2)", drawn)
    run(notebook)
    words, picture = (cell.outputs[0] for cell in notebook.cells)
    assert words.text == "1\n2\n" and {*picture.data} >= {"image/png", "text/plain"}
    assert picture.metadata["image/png"]["alt"].startswith("Curves")
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        run(notebook_of("1 / 0"))
    for code in ("import sys; print(1, file=sys.stderr)", "object()", "'/ho' 'me/x'"):
        with pytest.raises(ValueError, match="code cell 1 shows what no reader should see"):
            run(notebook_of(code))
    assert {*psutil.Process().children()} <= others, "a kernel is left"
