"""Each rule for a lesson is broken once, and the sentence that says so is checked."""

from pathlib import Path

import nbformat
import pytest

from lessons.asking import asking_faults
from lessons.book import read_source
from lessons.rules import MOST_BYTES, output_faults, source_faults

REPOSITORY = Path(__file__).resolve().parents[2]
ELSEWHERE = "/".join(["", "home", "no-such-person", "lab"])  # no clone of the lab lies there


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("# # Halving", "# Halving", "the first cell must be text and start with the title"),
        ("# %% [markdown]\n# # H", "# %%\n1\n# %% [markdown]\n# # H", "the first cell must be"),
        ("machine 1*", "machine*", "the first cell needs a line '*Reading 30 minutes · tasks 45"),
        ("*With twenty", "*With", "the first cell needs a line '*With twenty minutes: …*'"),
        ("**Question.**", "Well:", "no question: start a heading or bold words with 'Question'"),
        ("## What to remember", "## End", "no heading '## What to remember'"),
        ("**Question.**", "We have\n# 1. **Question.**", "this line would become a list"),
        ("print(halves(8))", "x = 1\n\n" * 15, "cell 3 has 18 lines of code, more than 15"),
        ('["time"]', '["tme"]', "cell 6 has the tag 'tme': use time or training"),
    ],
)
def test_a_source_that_breaks_a_rule(book, old, new, said):
    text = book.source.read_text(encoding="utf-8")
    assert old in text
    book.source.write_text(text.replace(old, new), encoding="utf-8")
    (fault, *_) = source_faults(read_source(book.source))
    assert said in fault


@pytest.mark.parametrize(
    "file, old, new, said",
    [
        ("lesson", "predict(", "print(", "no prediction: call predict('micro_batches-1'"),
        ("lesson", "halving-1", "halving-2", "its questions are halving-2: number them halving-1"),
        ("lesson", 'reveal("halving-1")', "1", "halving-1 needs both predict('halving-1', …) and"),
        ("lesson", '"twice", ', '"once", "twice", ', "halving-1: give a reason for each of A, C"),
        ("lesson", "tasks 0", "tasks 5", "the first cell says 'tasks 5', and its tasks take 0"),
        ("lesson", "Reading 5", "Reading 50", "'Reading 50', and reading it takes 5 minutes"),
        ("truth", "A=", "C=", "halving-1: give a reason for each of A"),
        (
            "truth",
            '"halving-1"',
            '"halving-9"',
            "halving-1 stands in one only of the lesson and PREDICTIONS",
        ),
    ],
)
def test_a_question_without_its_truth(book, file, old, new, said):
    path = book.source if file == "lesson" else book.root / "tasks/answers/halving.py"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert said in "; ".join(asking_faults(book, read_source(book.source)))


def test_a_task_stands_where_its_turn_is(book):
    name = "tasks/dp_1.py"
    (book.root / name).write_bytes((REPOSITORY / name).read_bytes())
    said = asking_faults(book, read_source(book.source))
    assert said == []
    cells = (
        '\n# %% [markdown]\n# ### Your turn: DP-1 · 9 minutes · 10 points\n\n# %%\ncheck("DP-1")\n'
    )
    book.source.write_text(book.source.read_text(encoding="utf-8") + cells, encoding="utf-8")
    said = "; ".join(asking_faults(book, read_source(book.source)))
    assert "'### Your turn: DP-1 · 15 minutes · 10 points' in a text that names DP/grad" in said
    assert "check('DP-1') belongs to another lesson" in said
    assert "'tasks 0', and its tasks take 15 minutes" in said


def notebook_with(output):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x", outputs=[output])])


def shown(**data):
    kinds = {"html": "text/html", "plain": "text/plain", "png": "image/png"}
    named = {kinds.get(kind, kind): value for kind, value in data.items()}
    return nbformat.v4.new_output("display_data", named)


@pytest.mark.parametrize(
    "data, said",
    [
        ({"png": "iVBO"}, "its picture has no alternative text"),
        (
            {"html": "<p><img src='x' alt='It falls.'/></p>"},
            "its <img> is a picture inside of HTML",
        ),
        ({"html": "<svg></svg>"}, "its <svg> or <script> is hidden until the notebook is run"),
        ({"html": "<script></script>"}, "its <svg> or <script> is hidden"),
        ({"application/vnd.jupyter.widget-view+json": {}}, "shows a live widget: use show(thing"),
        ({"plain": f"saved to {ELSEWHERE}/x.svg"}, f"machine: '{ELSEWHERE}/x.svg'"),
        ({"plain": r"C:\Users\ada\x.svg"}, r"names something of this machine: 'C:\\Users\\ada"),
        ({"html": "<b>/tmp/x</b>"}, "names something of this machine: '/tmp/x'"),
        ({"plain": "<Model at 0x7f00aa55bb10>"}, "names something of this machine: ' at 0x7f00"),
    ],
)
def test_an_output_that_breaks_a_rule(data, said):
    (fault,) = output_faults(notebook_with(shown(**data)))
    assert fault.startswith("cell 1: ")
    assert said in fault


def test_pictures_with_words_and_paths_of_the_project_are_fine():
    picture = shown(png="AAAA", plain="loss 0x1f in ../build/loss.png")
    picture.metadata = {"image/png": {"alt": "The loss falls."}}
    assert output_faults(notebook_with(picture)) == []


def test_a_check_that_does_not_pass_is_refused_where_the_solutions_stand():
    failed = notebook_with(shown(plain="DP-1  FAIL  average the gradients  (0.1 s)\n  not so"))
    (fault,) = output_faults(failed)
    assert fault == "cell 1: does not pass: DP-1 FAIL average the gradients (0.1 s) not so"
    assert output_faults(failed, solved=False) == []
    assert output_faults(notebook_with(shown(plain="DP-1  PASS  average  (0.1 s)"))) == []


def test_warnings_errors_and_size_are_refused():
    warning = nbformat.v4.new_output("stream", name="stderr", text="UserWarning: old\n")
    assert (
        "writes to standard error: 'UserWarning: old'" in output_faults(notebook_with(warning))[0]
    )
    error = nbformat.v4.new_output("error", ename="ValueError", evalue="no", traceback=[])
    assert "ends in an error, ValueError: no" in output_faults(notebook_with(error))[0]
    long = nbformat.v4.new_output("stream", text="x" * MOST_BYTES)
    assert "it must stay below 1,000,000" in output_faults(notebook_with(long))[0]
