"""The first page: a plan that can be changed, what there is to do, and the lessons."""

import json
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path

from pages.hero import KEPT
from pages.lesson import Lesson
from pages.shell import HOME, LAB, framed

ASSETS = Path(__file__).parent / "assets"
IMAGE = re.compile(r'<img loading="lazy" src="([^"]+\.svg)" (width="\d+" height="\d+") alt="')


def front(lessons: list[Lesson], copies: Mapping[str, int] | None = None) -> str:
    """Return the first page. copies: the files in which a visitor gets the lab, and their bytes."""
    body = (ASSETS / "front.html").read_text(encoding="utf-8")
    data = json.dumps(json.loads(KEPT.read_text(encoding="utf-8"))).replace("<", "\\u003c")
    get = f"git clone {HOME}\ncd {HOME.rpartition('/')[2]}\n" if HOME else ""
    parts = {
        "COUNT": str(len(lessons)),
        "PLAN": data,
        "LESSONS": "".join(map(shelved, lessons)),
        "GET": escape(get),
        "COPY": "".join(
            f' Here it is: <a href="{name}" download>{name}</a> ({size / 1e6:.0f} MB), with its '
            "tasks to be solved. Unpack it, and type in its folder:"
            for name, size in (copies or {}).items()
        ),
    }
    for name, text in parts.items():
        body = body.replace(f"@@{name}@@", text)
    return framed(LAB, body, "index.html", scripts=("front.js",))


def shelved(lesson: Lesson) -> str:
    """Return a lesson as a card: its picture, its title and its question."""
    found = IMAGE.search(lesson.article)
    image = f'<img loading="lazy" src="lessons/{found[1]}" {found[2]} alt="">' if found else ""
    return (
        f'<li><a href="lessons/{lesson.name}.html">{image}<small>{lesson.number}</small>'
        f"<h3>{lesson.title}</h3></a><p>{escape(lesson.question)}</p></li>\n"
    )
