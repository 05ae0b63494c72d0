"""A built notebook as an article: text, code, outputs; timelines and questions alive again."""

import base64
import inspect
import json
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import nbformat

from helpers.lesson.asked import Number, UnknownQuestion, truth_of
from helpers.lesson.shown import PREDICT, REVEAL, TIMELINE
from pages.links import links_of
from pages.markdown import colored, html_of

ANSI = re.compile(r"\x1b\[[0-9;]*m")
CHECK = re.compile(r'^check\("([A-Z0-9-]+)"\)', re.MULTILINE)
EIGHT = tuple(f"PZ-{number}" for number in range(1, 9))  # what the page of the puzzles runs
ANSWER = re.compile(r'^answer\("(L\d\d-\d+)", mine\)', re.MULTILINE)


@dataclass
class Lesson:
    """A lesson as it stands on the site. files: what its page loads, by name."""

    name: str
    title: str
    article: str
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def number(self) -> str:
        return self.name[:2]


def lesson_page(path: Path, file_link: Callable[[str], str | None]) -> Lesson:
    """Return the article of a notebook. file_link: the address of a file of the repository."""
    notebook = nbformat.read(path, as_version=4)
    title = notebook.cells[0].source.splitlines()[0].lstrip("# ")
    lesson = Lesson(path.stem, title, "")
    numbers = numbers_of(lesson.number)

    where = links_of(f"notebooks/{path.name}", file_link)
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(f'<div class="text">{html_of(cell.source, where)}</div>')
        elif cell.cell_type == "code":
            parts.append(_code_cell(cell, lesson, numbers))
    lesson.article = "\n".join(parts)
    return lesson


def _code_cell(cell, lesson: Lesson, numbers: dict[str, Number]) -> str:
    source = cell.source.strip()
    if found := CHECK.search(source):
        here = ' Or <a href="../puzzles.html">solve it on this site</a>.'
        return (
            f'<p class="task"><b>{found[1]}</b> In the lab, this cell checks what you wrote: '
            f'<code>check("{found[1]}")</code>.{here if found[1] in EIGHT else ""}</p>'
        )
    outputs = [_output(output, lesson) for output in cell.outputs]
    asks = [o for o in cell.outputs if PREDICT in o.get("data", {})]
    if asks and len(outputs) == len(asks):  # the call says no more than the question
        return "\n".join(outputs)
    if (found := ANSWER.search(source)) and found[1] in numbers:
        outputs = [number_form(found[1], numbers[found[1]])]
        source = ""
    code = f'<pre class="code">{colored(source)}</pre>' if source else ""
    return f'<div class="cell">{code}{"".join(outputs)}</div>'


def _output(output, lesson: Lesson) -> str:
    if output.output_type == "stream":
        return f'<pre class="said">{escape(ANSI.sub("", output.text))}</pre>'
    data = output.get("data", {})
    if PREDICT in data:
        return prediction(data[PREDICT])
    if REVEAL in data:
        return revelation(data[REVEAL])
    if "image/png" in data:
        return _picture(output, lesson)
    if "text/html" in data:
        return f'<div class="shown">{data["text/html"]}</div>'
    if "text/markdown" in data:
        return f'<div class="shown">{html_of(data["text/markdown"], lambda _, words: words)}</div>'
    return f'<pre class="said">{escape(data.get("text/plain", ""))}</pre>'


def _picture(output, lesson: Lesson) -> str:
    count = sum(name.endswith(".png") for name in lesson.files) + 1
    name = f"img/{lesson.number}-{count}.png"
    lesson.files[name] = data = base64.b64decode(output.data["image/png"])
    facts = output.metadata.get("image/png", {})
    # With both sizes a page keeps the picture's room before it's there, so nothing moves then.
    across, down = struct.unpack(">II", data[16:24])  # of the header that begins every PNG
    width = facts.get("width", across)
    size = f'width="{width}" height="{round(width * down / across)}"'
    image = f'<img loading="lazy" src="{name}" {size} alt="{escape(facts.get("alt", ""))}">'
    if TIMELINE not in output.data:
        return f'<div class="picture">{image}</div>'
    kept = f"img/{lesson.number}-{count}.json"
    lesson.files[kept] = json.dumps(output.data[TIMELINE]).encode()
    return f'<div class="picture" data-timeline="{kept}">{image}</div>'


def prediction(asks: dict) -> str:
    """Return a question with buttons; without a script the choices are a list."""
    rows = "".join(
        f'<button type="button" aria-pressed="false" data-letter="{letter}"><b>{letter}</b> '
        f"<span>{escape(text)}</span></button>"
        for letter, text in asks["choices"]
    )
    return (
        f'<fieldset class="predict" data-id="{asks["id"]}"><legend>Predict</legend>'
        f'<p>{escape(asks["question"])}</p>{rows}<p role="status"></p></fieldset>'
    )


def revelation(answers: dict) -> str:
    """Return the folded answer; a script says what was wrong with the reader's choice."""
    packed = escape(json.dumps(answers))
    return (
        f'<details class="reveal" data-answers="{packed}"><summary>The answer</summary>'
        f"<p>It's {answers['right']}: {escape(answers['because'])}</p></details>"
    )


def number_form(question_id: str, number: Number) -> str:
    """Return a field for a number, judged by a script."""
    truth = number.truth() if callable(number.truth) else number.truth
    facts = {
        "truth": truth,
        "tolerance": number.tolerance,
        "unit": number.unit,
        "because": number.because,
        "slips": [[slip, words] for slip, words in number.slips.items()],
    }
    return (
        f'<form class="number" data-id="{question_id}" data-facts="{escape(json.dumps(facts))}">'
        f'<label>Your number <input inputmode="decimal" autocomplete="off"> '
        f"{escape(number.unit)}</label> <button>Compare</button>"
        '<p role="status"></p></form>'
    )


def numbers_of(lesson: str) -> dict[str, Number]:
    """Return the questions for numbers whose truth doesn't depend on what a lesson measures."""
    try:
        asked = getattr(truth_of(lesson), "NUMBERS", {})
    except UnknownQuestion:
        return {}
    return {
        name: number
        for name, number in asked.items()
        if not callable(number.truth) or not inspect.signature(number.truth).parameters
    }
