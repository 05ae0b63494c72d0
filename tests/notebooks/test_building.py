"""From a source to an executed notebook, and beside the committed one: which differences count."""

import base64
import struct

import nbformat
import psutil
import pytest
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode, v4

from compare import differences
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


# --- what it shows, beside what is committed ------------------------------------------------------


def notebook(*outputs, source="print(1)\nx", tags=()):
    metadata = {"tags": list(tags)} if tags else {}
    return NotebookNode(cells=[v4.new_code_cell(source, outputs=list(outputs), metadata=metadata)])


def printed(text):
    return v4.new_output("stream", name="stdout", text=text)


def picture(alt, height=1):
    data = base64.b64encode(b"-" * 16 + struct.pack(">II", 2, height)).decode()
    return v4.new_output("display_data", {"image/png": data}, metadata={"image/png": {"alt": alt}})


CHANGES = [
    ("rank 0: 12 messages", "rank 0: 13 messages"),
    ("rank 0 waits", "rank 0 computes"),
    ("loss 2.416", "loss 2.421"),
    ("1.0e-03", "1.3e-03"),
    ("1,024 tokens", "1,025 tokens"),
    ("a line", "a line\nand one more"),
    ("loss 2.4", "loss 2.4 and 3"),
]
ROUNDED = [  # what another processor rounds
    ("loss 2.416", "loss 2.417"),
    ("loss 5.81, 547,648 numbers", "loss 5.82, 547,648 numbers"),
    ("largest difference 7.5e-08", "largest difference 0"),
    ("differ by less than: 4.8e-07, below 1e-4", "differ by less than: 0, below 1e-4"),
    ("measured 38 (-0.1%, at most 5%)", "measured 38 (+0.0%, at most 5%)"),
]


@pytest.mark.parametrize("old, new", CHANGES)
def test_a_change_is_told_with_its_cell_and_both_texts_and_what_is_rounded_is_none(old, new):
    for one, other in ROUNDED:
        assert differences(notebook(printed(one)), notebook(printed(other))) == []
    before, now = printed(old), printed(new)
    (told,) = differences(notebook(before), notebook(now))
    assert told.startswith("code cell 1, `print(1)`: committed is ")
    assert repr(old) in told and told.endswith(f"it shows {new!r}")
    for tag in ("time", "training"):
        assert differences(notebook(before), notebook(now, tags=[tag])) == []
        for outputs, shown in (([picture(old)], "image/png"), ([], "nothing")):
            (told,) = differences(notebook(before), notebook(*outputs, tags=[tag]))
            assert told.endswith(f"committed is 'stdout', it shows {shown!r}")
    far = [notebook(printed("all is well\n" * 1000 + text)) for text in (old, new)]
    (told,) = differences(*far)
    assert "is well\\n" in told and len(told) < 400


def test_of_a_check_its_seconds_and_of_a_picture_its_pixels_do_not_count():
    def checked(verdict, seconds):
        html = f"<b>{verdict}</b> <small>{seconds} s</small>"
        data = {"text/plain": f"TR-1  {verdict}  ({seconds} s)", "text/html": html}
        return notebook(v4.new_output("execute_result", data), source='check("TR-1")')

    assert differences(checked("PASS", 6.9), checked("PASS", 42.0)) == []
    assert len(differences(checked("PASS", 6.9), checked("FAIL", 6.9))) == 1
    old = notebook(picture("It falls from 7.102 to 5.8."))
    assert differences(old, notebook(picture("It falls from 7.103 to 5.8."))) == []
    (told,) = differences(old, notebook(picture("It rises from 7.102 to 5.8.")))
    assert "committed is 'It falls from 7" in told and "it shows 'It rises from 7" in told
    (told,) = differences(old, notebook(picture("It falls from 7.102 to 5.8.", height=3)))
    assert "by 1 pixels" in told and "by 3 pixels" in told
