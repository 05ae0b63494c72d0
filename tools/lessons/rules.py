"""How a lesson is written. An author follows these rules; the builder and the tests hold them.

The source, `notebooks/source/NN_name.py` (jupytext, py:percent: a cell starts at `# %%`, a text
cell at `# %% [markdown]`, a magic such as `%%ranks 3` stands as a comment, `# %%ranks 3`):

1. The first cell is text. Its first line is the title: `# One device`.
2. It also says how long the lesson takes, and what to do with little time, each on a line:
   `*Reading 30 minutes · tasks 45 · machine 1*` (reading: `asking.reading_minutes`; tasks: all, and
   in parentheses those below `## Homework`, as in `tasks 45 (homework 20)`) and
   `*With twenty minutes: …*`.
3. It asks: a text cell has a heading or bold words that start with "Question" …
4. … and the reader predicts: `predict("micro_batches-1", …)`; `reveal("micro_batches-1")` ends the
   cell that answers. Ids have the lesson's name and count up; the right answers stand in
   `tasks/answers/`, with a reason for every wrong choice.
5. It sums up: a text cell has the heading `## What to remember`.
6. A task stands where it's first needed: a text cell with the heading
   `### Your turn: DP-1 · 15 minutes · 10 points` that names its file, then a cell `check("DP-1")`.
   A lesson has all tasks that say they're its own and name no other page.
7. A code cell in sight has at most 15 lines, empty ones not counted. A line of text that starts
   with "1." belongs to a list: in the middle of a paragraph it would become one. What a code cell
   shows is the same in every run, or a tag says why not (`# %% tags=["time"]`): see `compare`.
8. A cell holds what a reader shall see, the idea, or what only runs and shows it, and is folded:
   `# %% jupyter={"source_hidden": true}` in the source. `quick(full, few)` is `full` in the
   notebook and `few` where a test only walks through the lesson: see `shown`.

The outputs:

9. A picture is an output of its own, image/png with alternative text in its metadata; the builder
   makes it so from what `helpers.lesson.show` shows. GitHub drops pictures inside of HTML, and
   JupyterLab hides inline SVG in a notebook nobody has run yet: see docs/viewers.md.
10. No live widget: only `show(…, live=…)` makes one, and not under LAB_STATIC=1.
11. Nothing on standard error; no warning is left for the reader to wonder about.
12. No path of the machine, no name of its user, no address in memory (`<Thing at 0x7f…>`).
13. The notebook as a file is smaller than 1 MB.
14. Every `check(…)` passes. (Not in the student edition, where the work is still to be done.)
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from lessons.compare import TAGS

FOLDED = {"source_hidden": True}  # a cell's metadata.jupyter
TIMES = re.compile(
    r"^\*Reading (\d+) minutes? · tasks (\d+)(?: \(homework (\d+)\))? · machine (\d+)\*$",
    re.MULTILINE,
)
# A line that starts with a number and a period, after one that is neither empty nor in a list.
LIST_BY_CHANCE = re.compile(r"^(?! |\d+[.)] |[-*] ).+\n(\d+[.)] .*)", re.MULTILINE)
MOST_BYTES = 1_000_000
# Names of users that are also words of a lesson, or of the machines that test it.
COMMON = {"root", "user", "runner", "student", "teacher", "admin", "test", "demo", "model", "rank"}
FAILED_CHECK = re.compile(r"[A-Z][A-Z0-9-]+ +FAIL ")  # as helpers.grade's Verdict shows itself
WIDGET = "application/vnd.jupyter.widget-view+json"
MACHINE = re.compile(
    r"(?:/home/|/Users/|/root/|/tmp/|/var/folders/|[A-Za-z]:\\Users\\)[\w./\\-]*"
    r"| at 0x[0-9A-Fa-f]{6,}"
)


def source_faults(notebook: NotebookNode) -> list[str]:
    """One sentence for each of the rules 1 to 3, 5 and 7 that the cells of `notebook` break."""
    cells = notebook.cells
    first = cells[0].source if cells and cells[0].cell_type == "markdown" else ""
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    faults = []
    if not re.match(r"# \S", first):
        faults.append("the first cell must be text and start with the title: '# One device'")
    if not TIMES.search(first):
        faults.append("the first cell needs a line '*Reading 30 minutes · tasks 45 · machine 1*'")
    if not re.search(r"^\*With twenty minutes\b.+\*$", first, re.MULTILINE):
        faults.append("the first cell needs a line '*With twenty minutes: …*'")
    if not re.search(r"^#+ Question\b|\*\*Question\b", text, re.MULTILINE):
        faults.append("no question: start a heading or bold words with 'Question'")
    if not re.search(r"^## What to remember", text, re.MULTILINE):
        faults.append("no heading '## What to remember'")
    for number, cell in enumerate(cells, 1):
        for tag in {*cell.metadata.get("tags", [])} - TAGS:
            faults.append(f"cell {number} has the tag {tag!r}: use {' or '.join(sorted(TAGS))}")
    for line in LIST_BY_CHANCE.findall(text):
        faults.append(f"this line would become a list; break the one before it elsewhere: {line}")
    return faults


def output_faults(notebook: NotebookNode, solved: bool = True) -> list[str]:
    """One sentence for each of the rules 9 to 14 that the outputs of `notebook` break.

    solved: whether the exercises are.
    """
    faults = []
    for number, cell in enumerate(notebook.cells, 1):
        for output in cell.get("outputs", []):
            found = _faults_of(output) + (_failed_checks(output) if solved else [])
            faults += [f"cell {number}: {fault}" for fault in found]
    size = len(nbformat.writes(notebook).encode())
    if size >= MOST_BYTES:
        faults.append(f"the notebook has {size:,} bytes: it must stay below {MOST_BYTES:,}")
    return faults


def _faults_of(output: NotebookNode) -> list[str]:
    if output.output_type == "error":
        return [f"ends in an error, {output.ename}: {output.evalue}"]
    if output.get("name") == "stderr":
        return [f"writes to standard error: {output.text.strip()[:200]!r}"]
    data = output.get("data", {})
    faults = []
    if WIDGET in data:
        faults.append("shows a live widget: use show(thing, live=…)")
    elif "text/html" in data:
        faults += _picture_faults(data["text/html"])
    elif any(kind.startswith("image/") for kind in data):
        facts = output.get("metadata", {}).get("image/png", {})
        if not (facts.get("alt") or "").strip():
            faults.append("its picture has no alternative text: use show(picture, alt='…')")
    words = [output.get("text", ""), *(data[kind] for kind in data if kind.startswith("text/"))]
    found = _of_this_machine("\n".join(words))
    if found:
        faults.append(f"names something of this machine: {found!r}")
    return faults


def _failed_checks(output: NotebookNode) -> list[str]:
    text = output.get("data", {}).get("text/plain", "")
    return [f"does not pass: {' '.join(text.split())}"] if FAILED_CHECK.match(text) else []


def _picture_faults(html: str) -> list[str]:
    """What is wrong with the pictures in `html`."""
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append(tag)
    parser.feed(html)
    faults = []
    if "img" in tags:
        faults.append("its <img> is a picture inside of HTML: use show(picture, alt='…')")
    if any(tag in ("svg", "script") for tag in tags):
        faults.append("its <svg> or <script> is hidden until the notebook is run: use show()")
    return faults


def _of_this_machine(text: str) -> str:
    """The first piece of `text` that only this machine would print, or an empty string."""
    places = {str(place) for place in (Path(__file__).parents[2], sys.prefix, Path.home())}
    for word in places | ({Path.home().name} - COMMON):
        if len(word) > 3 and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text):
            return word
    found = MACHINE.search(text)
    return found.group() if found else ""
