"""A built notebook as Sphinx shall read it: links that lead somewhere, live outputs."""

import base64
import inspect
import json
import posixpath
import re
import tomllib
import zlib
from html import escape
from pathlib import Path

from helpers.draw.themed import PICTURE, TIMELINE
from helpers.lesson.asked import ID, answers_of
from helpers.lesson.shown import PREDICT, REVEAL
from helpers.syllabus import LESSONS

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HOME = PROJECT["tool"]["lab"]["repository"].rstrip("/")
PAGES = {"TEACHING.md": "TEACHING.md"} | {
    path.relative_to(ROOT).as_posix(): f"{to}{path.relative_to(ROOT / folder).as_posix()}"
    for folder, to, pattern in (
        ("site", "", "*.md"),
        ("docs", "docs/", "**/*.md"),
        ("notebooks", "lessons/", "*.ipynb"),
        ("imgs", "imgs/", "*.svg"),
    )
    for path in (ROOT / folder).glob(pattern)
}
FILES = {each.number: f"{each.stem}.ipynb" for each in LESSONS}
CODE = re.compile(r"(^ *```.*?^ *```|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
MENTION = re.compile(r"\b([Ll]essons?\s)(\d\d(?:(?:, and |, | and | to | or )\d\d)*)\b")
TITLE = re.compile(r"# (?P<title>.+)\n+\*Reading (?P<reading>\d+) .*?tasks (?P<tasks>\d+).*\*\n")
ANSWER = re.compile(rf'^answer\("({ID.pattern})", mine\)', re.MULTILINE)
FOLD = re.compile(r'<details class="lab-fold">.*?</details>', re.DOTALL)
PLAYED = re.compile(r'^\w+ = (play|explore)\("?(\w*)', re.MULTILINE)
SMALL = '<img class="dark-light" loading="lazy" src="lessons/{}" alt="">'
IMAGE = '<img class="dark-light" loading="lazy" src="{}" width="{:.0f}" height="{:.0f}" alt="{}">'


def links_of(text: str, name: str) -> str:
    """Return Markdown in which a link to a file that's no page leads to the repository, or nowhere.

    Sphinx would copy such a file, with the solutions in it. name: of the document.
    """
    here = PAGES[name]

    def led(found: re.Match) -> str:
        mark, words, address = found.groups()
        file, _, part = address.partition("#")
        if "://" in address or not file or file.startswith("@@"):
            return found[0]
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(name), file))
        if wanted in PAGES:
            to = posixpath.relpath(PAGES[wanted], posixpath.dirname(here) or ".")
            return f"{mark}[{words}]({to}{part and '#' + part})"
        if HOME:
            return f"[{words}]({HOME}/blob/main/{wanted})"
        return f'<span class="file" title="{wanted}, in the lab">{words}</span>'

    return LINK.sub(led, text)


def with_mentions(text: str, own: str) -> str:
    """Return Markdown in which "lesson 13" is a link, outside of code and of links."""

    def link(words: str) -> str:
        file = FILES.get(words[-2:])
        return f"[{words}]({file})" if file else words

    def linked(found: re.Match) -> str:
        if own in found[2]:
            return found[0]
        if found[2].isdigit():  # one lesson: the words are the link
            return link(" ".join(found[0].split()))
        return found[1] + re.sub(r"\d\d", lambda number: link(number[0]), found[2])

    parts = re.split(rf"({CODE.pattern[1:-1]}|!?\[[^\]]*\]\([^)]*\))", text, flags=CODE.flags)
    parts[::2] = [MENTION.sub(linked, part) for part in parts[::2]]
    return "".join(parts)


def with_live_outputs(path: Path) -> tuple[dict, dict[str, bytes]]:
    """Return a lesson's notebook for Sphinx, and the files that its page loads, by name."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    number, files = path.name[:2], {}
    prepares = True  # until the first section begins, cells import and set up
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            prepares = prepares and "\n## " not in f"\n{text}"
            text = with_mentions(links_of(text, f"notebooks/{path.name}"), number)
            cell["source"] = TITLE.sub(lambda found: header(found, number), text)
            continue
        tags = cell["metadata"].setdefault("tags", [])
        if prepares or cell["metadata"].get("jupyter", {}).get("source_hidden"):
            tags.append("hide-input")
        if form := number_form(text, path.stem[3:]):
            cell["outputs"] = [html(form)]
        elif text.startswith("check("):  # what the lab says there is of the reader's own work
            found = [FOLD.search("".join(o["data"].get("text/html", ""))) for o in data_of(cell)]
            cell["outputs"] = [html(fold[0]) for fold in found if fold]
        kinds = [kind for output in data_of(cell) for kind in output["data"]]
        if form or (PREDICT in kinds and len(cell["outputs"]) == 1):
            tags.append("remove-input")
        for output in data_of(cell):
            live(output, files, number)
        if found := PLAYED.search(text):
            state = f"#level={found[2]}" if found[2] else ""
            words = {"play": "Play this level", "explore": "Move these sliders"}[found[1]]
            link = f'<a class="lab-button go" href="../{found[1]}.html{state}">{words}</a>'
            cell["outputs"].append(html(f"<p>{link}</p>"))
    return notebook, files


def header(found: re.Match, number: str) -> str:
    question = next(each.question for each in LESSONS if each.number == number)
    work = "" if found["tasks"] == "0" else f", {found['tasks']} for its tasks"
    return (
        f"# {number} · {found['title']}\n\n"
        f'<p class="question">{escape(question)}</p>\n\n'
        f'<p class="times">{found["reading"]} minutes to read{work}</p>\n'
    )


def data_of(cell: dict) -> list[dict]:
    return [output for output in cell["outputs"] if "data" in output]


def html(text: str) -> dict:
    return {"output_type": "display_data", "data": {"text/html": text}, "metadata": {}}


def live(output: dict, files: dict[str, bytes], number: str) -> None:
    """Put what a page can show better in the place of an output's data."""
    data, kept = output["data"], output["data"]
    if PREDICT in data:
        kept = {"text/html": prediction(data[PREDICT])}
    elif REVEAL in data:
        answer = data[REVEAL]
        words = f"<p>It's {answer['right']}: {escape(answer['because'])}</p>"
        facts = f'class="reveal" data-answers="{escape(json.dumps(answer))}"'
        kept = {"text/html": f"<details {facts}><summary>The answer</summary>{words}</details>"}
    elif PICTURE in data:
        svg = zlib.decompress(base64.b64decode(data[PICTURE]["svg"]))
        name = f"img/{number}-{len(files) + 1}"
        files[f"{name}.svg"] = svg
        width, height = re.search(rb'width="([\d.]+)" height="([\d.]+)"', svg).groups()
        alt = escape(output["metadata"].get("image/png", {}).get("alt", ""))
        facts = ""
        if TIMELINE in data:
            files[f"{name}.json"] = zlib.decompress(base64.b64decode(data[TIMELINE]["json"]))
            facts = f' data-timeline="{name}.json"'
        image = IMAGE.format(f"{name}.svg", float(width), float(height), alt)
        kept = {"text/html": f'<div class="picture"{facts}>{image}</div>'}
    output["data"] = {kind: value for kind, value in kept.items() if "lab" not in kind}


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


def number_form(source: str, lesson: str) -> str:
    """Return a field for the number that a cell asks for; "" if its truth has to be measured."""
    found = ANSWER.search(source)
    number = getattr(answers_of(lesson), "NUMBERS", {}).get(found[1]) if found else None
    if not number or (callable(number.truth) and inspect.signature(number.truth).parameters):
        return ""
    facts = {name: getattr(number, name) for name in ("tolerance", "unit", "because")}
    facts["truth"] = number.truth() if callable(number.truth) else number.truth
    facts["slips"] = list(number.slips.items())
    return (
        f'<form class="number" data-facts="{escape(json.dumps(facts))}"><label>Your number '
        f'<input inputmode="decimal" autocomplete="off"> {escape(number.unit)}</label> '
        '<button>Compare</button><p role="status"></p></form>'
    )


def cards(files: dict[str, bytes]) -> str:
    """Return the lessons as cards: a picture, the title, the question. files: of all lessons."""
    made = []
    for each in LESSONS:
        pictures = [name for name in files if re.match(rf"img/{each.number}-.*svg", name)]
        image = "".join(SMALL.format(name) for name in pictures[:1])
        made.append(
            f'<li><a href="lessons/{each.stem}.html">{image}<small>{each.number}</small>'
            f"<h3>{escape(each.title)}</h3></a><p>{escape(each.question)}</p></li>"
        )
    return "".join(made)
