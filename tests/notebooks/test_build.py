"""From a source to an executed notebook: what is written, when, and what a failure says."""

import shutil

import nbformat
import pytest
from nbformat import NotebookNode

from lessons.book import LessonFailed, books, read_source
from lessons.build import why_stale
from lessons.digest import _all_folders, digest
from lessons.execute import clean, execute
from notebooks import main

pytestmark = [pytest.mark.slow, pytest.mark.patient]

TASK = """
from helpers.grade import Task

TASK = Task(
    title="halve it",
    file="lab/halve.py",
    function="halve",
    lesson="halving",
    minutes=5,
    hints=("a", "b < c", "d"),
)


def observe(module, case):
    pass
"""


def change(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def build(book, *arguments):
    return main([*arguments], root=book.root)


def test_a_lesson_is_built_once_and_again_only_after_a_change(book, capsys):
    assert build(book) == 0
    first = book.notebook.read_bytes()
    assert capsys.readouterr().out.startswith("00_halving: running …\n00_halving: written after")

    assert build(book) == 0
    assert capsys.readouterr().out == "00_halving: up to date\n"

    change(book.source, 'print("since the start:", perf_counter())', "perf_counter() > 0")
    assert build(book) == 0
    second = book.notebook.read_bytes()
    assert build(book, "--force") == 0
    assert book.notebook.read_bytes() == second, "the same source must give the same bytes"

    notebook = nbformat.read(book.notebook, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [1, 2, 3, 4, 5]
    assert code[1].outputs[0].text == "[8, 4, 2, 1]\n"
    assert code[1].outputs[-1].data["text/plain"] == "4"
    (picture,) = code[2].outputs
    assert set(picture.data) == {"image/png", "text/plain"}
    assert picture.metadata["image/png"] == {"alt": "The line falls from 8 to 1.", "width": 288}
    assert [cell.metadata for cell in code] == [
        {"jupyter": {"source_hidden": True}},
        {},
        {},
        {"tags": ["time"]},
        {},
    ]
    assert set(notebook.metadata) == {"kernelspec", "language_info", "lab"}
    assert str(book.root) not in first.decode()


def test_check_says_what_is_stale_and_why(book, capsys):
    assert build(book, "--check") == 1
    assert "00_halving: there is no notebook yet; run: make notebooks" in capsys.readouterr().out

    build(book)
    capsys.readouterr()
    assert build(book, "--check") == 0
    assert capsys.readouterr().out == "All 1 notebooks are up to date.\n"

    change(book.root / "lab/numbers_here.py", "<= 1", "<= 2")
    assert build(book, "--check") == 1
    assert "00_halving: its scripts or questions have changed" in capsys.readouterr().out
    change(book.root / "lab/numbers_here.py", "<= 2", "<= 1")

    change(book.source, "Three times", "3 times")
    assert build(book, "--check") == 1
    assert "its cells differ from notebooks/source/00_halving.py" in capsys.readouterr().out

    change(book.source, "3 times", "Three times")
    shutil.copy(book.notebook, book.folder / "99_lost.ipynb")
    assert build(book, "--check") == 1
    assert capsys.readouterr().out == "99_lost: it has no source; remove it\n"


def test_a_change_of_words_or_tags_alone_keeps_the_outputs(book, capsys):
    build(book)
    committed = book.notebook.read_text(encoding="utf-8")
    book.notebook.write_text(committed.replace("[8, 4, 2, 1]", "[as it was]"), encoding="utf-8")
    change(book.source, "Three times", "3 times")
    change(book.source, '["time"]', '["training"]')
    capsys.readouterr()
    assert build(book) == 0
    assert "running" not in capsys.readouterr().out
    text = book.notebook.read_text(encoding="utf-8")
    assert "[as it was]" in text and "3 times" in text and '"training"' in text
    assert build(book, "--check") == 0

    change(book.source, "len(halves(8))", "len(halves(4))")
    assert build(book) == 0
    assert "[as it was]" not in book.notebook.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["lab/numbers_here.py", "tasks/answers/halving.py"])
def test_the_digest_follows_the_lessons_own_files_alone(book, name):
    def now():
        return digest(book, read_source(book.source))

    before = now()
    for other in ("elsewhere.py", "lab/build/made.py"):
        (book.root / other).write_text("# changed\n", encoding="utf-8")
    path = book.root / name
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))  # as Windows ends lines
    assert now() == before
    path.write_bytes(path.read_bytes() + b"# changed\r\n")
    assert now() != before


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("len(halves(8))", "1 / 0", "cell 3 failed at `1 / 0`: ZeroDivisionError: division"),
        ("len(halves(8))", "halves('x')", "cell 3 failed at `halves('x')`: TypeError: '<='"),
        ("len(halves(8))", "import os; os._exit(1)", "cell 3 ended its kernel"),
        ("print(halves(8))", "import sys; print(1, file=sys.stderr)", "writes to standard error"),
        ("## What to", "## How to", "no heading '## What to remember'"),
        ("halves(2) ==", "halves(", "cell 7 failed at `halves( [2, 1]`: SyntaxError: "),
    ],
)
def test_a_failed_build_says_where_and_why_and_leaves_the_old_notebook(book, capfd, old, new, said):
    book.notebook.write_text("the old notebook", encoding="utf-8")
    change(book.source, old, new)
    assert build(book, "--force") == 1
    assert said in capfd.readouterr().out
    assert book.notebook.read_text(encoding="utf-8") == "the old notebook"


def test_a_cell_that_takes_too_long_is_ended(book):
    cell = nbformat.v4.new_code_cell("import time; time.sleep(600)")
    with pytest.raises(LessonFailed, match="cell 1 took more than 8 s and was ended"):
        execute(nbformat.v4.new_notebook(cells=[cell]), book.folder, cell_seconds=8)


def test_names_pick_lessons_and_an_unknown_one_is_refused(book):
    assert [found.name for found in books(book.root, ["00"])] == ["00_halving"]
    with pytest.raises(SystemExit, match="No lesson starts with '07'. There are: 00_halving."):
        books(book.root, ["07"])


def test_cells_keep_their_ids_when_another_is_put_before_them(book):
    before = [cell.id for cell in read_source(book.source).cells]
    change(book.source, "# %%\nfrom numbers_here", "# %%\nprint()\n\n# %%\nfrom numbers_here")
    after = [cell.id for cell in read_source(book.source).cells]
    assert len(after) == len(before) + 1
    assert [identity for identity in after if identity in before] == before


def test_before_a_check_stands_what_the_task_says(book):
    change(book.source, "halves(2) == [2, 1]", 'check("H-1")')
    with pytest.raises(LessonFailed, match="check\\('H-1'\\): there is no task 'H-1'"):
        read_source(book.source)
    assert build(book) == 1  # a sentence, whether a notebook is there or not
    book.notebook.write_text(nbformat.writes(nbformat.v4.new_notebook()), encoding="utf-8")
    assert "there is no task 'H-1'" in why_stale(book)
    (book.root / "tasks" / "h_1.py").write_text(TASK, encoding="utf-8")
    *_, before, cell = read_source(book.source).cells
    assert (before.cell_type, cell.source) == ("markdown", 'check("H-1")')
    assert before.source.startswith("`halve` in [lab/halve.py](../lab/halve.py)\n")
    hints = before.source.splitlines()[2:]
    assert hints[1] == "<details><summary>Hint 2 for H-1</summary>b &lt; c</details>"
    assert len(hints) == 3


def test_a_cell_magic_is_a_comment_in_the_source_and_code_in_the_notebook(book):
    change(book.source, "# %%\nfrom numbers_here", "# %%\n# %%ranks 3\nfrom numbers_here")
    assert read_source(book.source).cells[2].source.startswith("%%ranks 3\nfrom numbers_here")


def test_pictures_in_html_become_outputs_of_their_own():
    picture = '<img alt="0 &lt; 1" style="x" src="data:image/png;base64,AA+/==">'
    html = f"<pre>who waits</pre>{picture}<b>!</b>"
    output = nbformat.v4.new_output("display_data", {"text/html": html, "text/plain": "words"})
    notebook = NotebookNode(cells=[nbformat.v4.new_code_cell("x", outputs=[output])])
    clean(notebook)
    words, picture = notebook.cells[0].outputs
    assert words.data == {"text/html": "<pre>who waits</pre><b>!</b>", "text/plain": "words"}
    assert picture.data == {"image/png": "AA+/==", "text/plain": "0 < 1"}
    assert picture.metadata == {"image/png": {"alt": "0 < 1"}}


def test_the_prints_of_a_cell_are_joined_and_rewritten_lines_dropped():
    def printed(text, name="stdout"):
        return nbformat.v4.new_output("stream", name=name, text=text)

    picture = nbformat.v4.new_output("display_data", {"text/plain": "x"})
    outputs = [printed("a\n10 %\r"), printed("20 %\r\n"), picture, printed("\x1b[2K\x1b[31mred")]
    notebook = NotebookNode(cells=[nbformat.v4.new_code_cell("x", outputs=outputs)])
    clean(notebook)
    joined = notebook.cells[0].outputs
    assert [output.get("text") for output in joined] == ["a\n20 %\n", None, "\x1b[31mred"]


def test_scripts_below_a_folder_are_a_lessons_own_unless_another_lesson_names_theirs(book):
    deeper = book.root / "lab/deeper/more.py"
    deeper.parent.mkdir()
    found = []
    for other in ("", 'sys.path[:0] = ["../lab/deeper"]\n'):
        (book.source.parent / "01_other.py").write_text(other)
        _all_folders.cache_clear()
        for text in ("x = 1\n", "x = 2\n"):
            deeper.write_text(text)
            found.append(digest(book, read_source(book.source)))
    one, two, *apart = found
    assert one != two and len({one, two, *apart}) == 3 and apart[0] == apart[1]
