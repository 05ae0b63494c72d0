"""Each lesson has the same parts, its notebook is its source, and what it shows is compared."""

import ast
import base64
import re
import struct
from pathlib import Path
from string import ascii_uppercase

import nbformat
import pytest
from nbformat import NotebookNode, v4

from compare import TAGS, differences
from helpers.check.task import load_task, part_of_tasks, task_ids
from notebooks import CHECK, LEAK, code_cells, read, sources, texts

ROOT = Path(__file__).resolve().parents[2]
TIMES = re.compile(r"^\*Reading (\d+) minutes?, tasks (\d+)(?: \(homework (\d+)\))?\*$", re.M)
TURN = re.compile(r"^### Your turn: ([A-Z0-9-]+) · (\d+) minutes · (\d+) points?$", re.M)
CASES = re.compile(r"^### Your turn: cases .* · (\d+) minutes$", re.M)
ROW = re.compile(r"\| \*\*(.+?)\*\* \| (\S.*\S) \| \[(\d\d)\]\(\.\./(notebooks/(\S+)\.ipynb)\) \|")
MAGIC = re.compile(r"^(\s*)([%!].*|\w+ = [%!].*)$", re.M)
each_lesson = pytest.mark.parametrize("source", sources(), ids=lambda source: source.stem)


def test_each_term_of_the_glossary_is_there_once_in_order_and_in_the_lesson_that_its_row_names():
    lines = (ROOT / "docs/glossary.md").read_text(encoding="utf-8").splitlines()[6:]
    rows = [ROW.fullmatch(line).groups() for line in lines]
    terms = [term.lower() for term, *_ in rows]
    assert terms == sorted(set(terms))
    for term, (*_, name) in zip(terms, rows, strict=True):
        source = (ROOT / f"notebooks/source/{name}.py").read_text(encoding="utf-8")
        words = " ".join(source.replace("\n#", "\n").split()).lower()
        for word in re.sub(r" \(.*", "", term).split(", "):
            assert word in words, (term, name)


@each_lesson
def test_a_lesson_has_a_title_its_minutes_a_question_and_an_end(source):
    notebook = read(source)
    first = notebook.cells[0].source
    text = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert re.match(r"# \S", first)
    assert TIMES.search(first), "a line '*Reading 30 minutes, tasks 45*'"
    assert re.search(r"^\*With twenty minutes\b.+\*$", first, re.M)
    assert re.search(r"^#+ Question\b|\*\*Question\b", text, re.M)
    assert re.search(r"^## What to remember", text, re.M)
    for cell in notebook.cells:
        assert TAGS.issuperset(cell.metadata.get("tags", [])), cell.source


@each_lesson
def test_its_tasks_stand_below_what_they_take_and_give(source):
    minutes, at_home, homework, above, checked = 0, 0, False, "", set()
    notebook = read(source)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            homework = homework or bool(re.search(r"^## Homework", cell.source, re.M))
            above = cell.source if TURN.search(cell.source) else above
            took = sum(map(int, CASES.findall(cell.source)))
        elif found := CHECK.match(cell.source):
            task = load_task(found[1])
            checked.add(task.id)
            took = task.minutes
            assert (task.id, str(task.minutes), str(task.points)) in TURN.findall(above)
            assert task.file in above
        else:
            continue
        minutes, at_home = minutes + took, at_home + took * homework
    every = map(load_task, task_ids())
    own = {task.id for task in every if task.lesson == source.stem[3:] and not task.page}
    assert checked == own
    _, tasks, home = TIMES.search(notebook.cells[0].source).groups()
    assert (int(tasks), int(home or 0)) == (minutes, at_home)


@each_lesson
def test_each_question_has_an_answer_and_a_reason_for_each_wrong_choice(source):
    asked = {"predict": {}, "reveal": {}, "answer": {}}
    for cell in code_cells(read(source)):
        for node in ast.walk(ast.parse(MAGIC.sub(r"\1pass", cell.source))):
            name = isinstance(node, ast.Call) and getattr(node.func, "id", "")
            if name in asked:
                assert node.args[0].value not in asked[name], "two questions of one name"
                asked[name][node.args[0].value] = len(node.args) - 2  # choices
    try:
        truth = part_of_tasks(f"answers/{source.stem[3:]}")
    except FileNotFoundError:
        truth = None
    assert set(asked["predict"]) == set(asked["reveal"])
    assert set(asked["predict"]) == set(getattr(truth, "PREDICTIONS", {}))
    assert set(asked["answer"]) == set(getattr(truth, "NUMBERS", {}))
    for name, choices in asked["predict"].items():
        letters, known = set(ascii_uppercase[:choices]), truth.PREDICTIONS[name]
        right = {known.right} if isinstance(known.right, str) else set()
        assert right <= letters and set(known.wrong) == letters - right, name


@each_lesson
def test_the_committed_notebook_is_the_source_and_fit_to_be_read(source):
    path = ROOT / f"notebooks/{source.stem}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    assert texts(notebook) == texts(read(source)), "run: make notebooks"
    assert path.stat().st_size < 1_000_000
    for number, cell in enumerate(code_cells(notebook), 1):
        assert cell.execution_count == number
        for output in cell.outputs:
            data = output.get("data", {})
            words = output.get("text", "") + "".join(
                value for kind, value in data.items() if kind.startswith("text/")
            )
            assert output.output_type != "error" and output.get("name") != "stderr"
            assert not LEAK.search(words)
            assert not re.match(r"[A-Z][A-Z0-9-]+ +FAIL ", words), "a check that doesn't pass"
            assert "application/vnd.jupyter.widget-view+json" not in data
            # GitHub drops pictures inside of HTML, and JupyterLab those of a notebook not yet run.
            assert not re.search("<(img|svg|script)[ >]", data.get("text/html", ""))
            if "image/png" in data:
                assert output.metadata["image/png"]["alt"].strip()


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
