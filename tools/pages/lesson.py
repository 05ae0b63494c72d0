"""A built notebook as an article: text, code, outputs; questions alive again."""

import ast
import base64
import inspect
import json
import re
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from urllib.parse import urlencode

import nbformat

from helpers.draw.themed import PICTURE
from helpers.lesson.asked import ID, Number, UnknownQuestion, answers_of
from helpers.lesson.shown import PREDICT, REVEAL
from helpers.syllabus import LESSONS
from pages.links import links_of
from pages.markdown import colored, html_of

ANSI = re.compile(r"\x1b\[[0-9;]*m")
CHECK = re.compile(r'^check\("([A-Z0-9-]+)"\)', re.MULTILINE)
EIGHT = tuple(f"PZ-{number}" for number in range(1, 9))  # what the page of the puzzles runs
FOLD = re.compile(r'<details class="lab-fold">.*?</details>', re.DOTALL)
ANSWER = re.compile(rf'^answer\("({ID.pattern})", mine\)', re.MULTILINE)
TITLE = re.compile(r"# (?P<title>.+)\n+\*Reading (?P<reading>\d+) .*?tasks (?P<tasks>\d+).*\*\n")
HEADING = re.compile(r'<h([23]) id="([^"]+)">(.*?)</h')
TAG_OR_POINTS = re.compile(r"<.*?>|Your turn: | · \d+ points")
TOUCHED = {"play": "Play this level", "explore": "Move these sliders"}


@dataclass
class Lesson:
    """A lesson as it stands on the site.

    times: the minutes it takes, in words. files: what its page loads, by name.
    """

    name: str
    title: str
    article: str = ""
    times: str = ""
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def number(self) -> str:
        return self.name[:2]

    @property
    def question(self) -> str:
        """What it answers; "" of a notebook that is none of the lab's lessons."""
        return next((each.question for each in LESSONS if each.stem == self.name), "")

    @property
    def contents(self) -> list[tuple[str, str, str]]:
        """The level, the id and the words of each heading."""
        found = HEADING.findall(self.article)
        return [(level, name, TAG_OR_POINTS.sub("", words)) for level, name, words in found]


def lesson_page(path: Path, file_link: Callable[[str], str | None]) -> Lesson:
    """Return the article of a notebook. file_link: the address of a file of the repository."""
    notebook = nbformat.read(path, as_version=4)
    first = notebook.cells[0]
    title = first.source.splitlines()[0].lstrip("# ")
    lesson = Lesson(path.stem, title)
    if about := TITLE.match(first.source):
        work = f", {about['tasks']} for its tasks" if about["tasks"] != "0" else ""
        lesson.times = f"{about['reading']} minutes to read{work}"
        first.source = first.source[about.end() :]
    else:
        first.source = first.source.partition("\n")[2]
    numbers = numbers_of(lesson.name[3:])

    where = links_of(f"notebooks/{path.name}", file_link)
    others = {each.number: f"{each.stem}.ipynb" for each in LESSONS if each.stem != path.stem}
    parts, setup = [], []  # setup: cells that show nothing, in one fold
    for cell in notebook.cells:
        if cell.cell_type == "code" and "jupyter" in cell.metadata and not cell.outputs:
            setup.append(cell.source.strip())
            continue
        if setup:
            source, setup = "\n\n".join(setup), []
            parts.append(f'<div class="cell">{_folded(source, "Set-up")}</div>')
        if cell.cell_type == "markdown":
            parts.append(f'<div class="text">{html_of(cell.source, where, others.get)}</div>')
        elif cell.cell_type == "code":
            parts.append(_code_cell(cell, lesson, numbers))
    lesson.article = "\n".join(parts)
    return lesson


def _folded(source: str, words: str = "Show the code") -> str:
    code = f'<pre class="code">{colored(source)}</pre>'
    return f'<details class="folded"><summary>{words}</summary>{code}</details>'


def _code_cell(cell, lesson: Lesson, numbers: dict[str, Number]) -> str:
    source = cell.source.strip()
    if found := CHECK.search(source):
        here = ' Or <a href="../puzzles.html">solve it on this site</a>.'
        mine = found[1] in EIGHT  # to be solved on the site, so it shows no way to write it
        return (
            f'<p class="task"><b>{found[1]}</b> In the lab, this cell checks what you wrote: '
            f'<code>check("{found[1]}")</code>.{here if mine else ""}</p>'
            f"{'' if mine else _one_way(cell.outputs)}"
        )
    outputs = [_output(output, lesson) for output in cell.outputs]
    asks = [o for o in cell.outputs if PREDICT in o.get("data", {})]
    if asks and len(outputs) == len(asks):  # the call says no more than the question
        return "\n".join(outputs)
    if (found := ANSWER.search(source)) and found[1] in numbers:
        outputs = [number_form(found[1], numbers[found[1]])]
        source = ""
    code = f'<pre class="code">{colored(source)}</pre>' if source else ""
    if code and "jupyter" in cell.metadata:
        code = _folded(source)
    return f'<div class="cell">{code}{"".join(outputs)}{touched(source)}</div>'


def touched(source: str) -> str:
    """Return the link to the page on which a reader of the site does what a cell lets one do."""
    try:
        body = ast.parse(source).body
    except SyntaxError:  # a magic
        return ""
    for each in body:
        made = getattr(each, "value", None)
        page = made.func.id if isinstance(made, ast.Call) and hasattr(made.func, "id") else ""
        if isinstance(each, ast.Assign) and page in TOUCHED:
            state = dict(zip(["level"], map(ast.literal_eval, made.args), strict=False))
            state |= {key.arg: ast.literal_eval(key.value) for key in made.keywords}
            link = f"../{page}.html#{escape(urlencode(state))}"
            return f'<p><a class="button go" href="{link}">{TOUCHED[page]}</a></p>'
    return ""


def _one_way(outputs) -> str:
    """Return the fold of a passed check, in which one way to write the task stands."""
    html = "".join(output.get("data", {}).get("text/html", "") for output in outputs)
    found = FOLD.search(html)
    return f'<div class="cell">{found[0]}</div>' if found else ""


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
    count = sum(name.endswith((".png", ".svg")) for name in lesson.files) + 1
    name = f"img/{lesson.number}-{count}"
    data = base64.b64decode(output.data["image/png"])
    facts = output.metadata.get("image/png", {})
    # With both sizes a page keeps the picture's room before it's there, so nothing moves then.
    across, down = struct.unpack(">II", data[16:24])  # of the header that begins every PNG
    width = facts.get("width", across)
    size = f'width="{width}" height="{round(width * down / across)}"'
    if PICTURE in output.data:  # sharp, and in the colors of the page's theme
        lesson.files[f"{name}.svg"] = _unpacked(output.data[PICTURE]["svg"])
    else:
        lesson.files[f"{name}.png"] = data
    source = next(reversed(lesson.files))
    image = f'<img loading="lazy" src="{source}" {size} alt="{escape(facts.get("alt", ""))}">'
    return f'<div class="picture">{image}</div>'


def _unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


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
        asked = getattr(answers_of(lesson), "NUMBERS", {})
    except UnknownQuestion:
        return {}
    return {
        name: number
        for name, number in asked.items()
        if not callable(number.truth) or not inspect.signature(number.truth).parameters
    }
