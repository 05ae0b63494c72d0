"""The site in headless Chromium, beside what it promises: drawn, Python answers, a slider."""

import contextlib
import functools
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench.race import Race
from bench.timeline import browser, program

ROOT = Path(__file__).resolve().parents[1]
LESSON = "lessons/06_micro_batches.html"
LONG = 180_000  # ms: a busy machine takes long, and shall be told how long
PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
SLIDE = """async (micro_batches) => {
    const place = document.getElementById("view");
    const slider = document.querySelector("[data-key=micro_batches]");
    delete place.dataset.answered;
    slider.value = micro_batches - 1;
    slider.dispatchEvent(new Event("input"));
    while (!place.dataset.answered) await new Promise(requestAnimationFrame);
    return Number(place.dataset.answered);
}"""


def races() -> list[Race]:
    """Each page beside its promise, as a new visitor finds it; [] without a browser."""
    if program() is None:
        return []
    there = "() => document.querySelector('{}') && performance.now()"
    rows = [("first paint of a lesson", lambda: seen(LESSON, PAINTED), 1000)]
    for name, drawn in (("play", ".play-lane"), ("explore", "#view canvas")):
        for words, what, most in (("is drawn", drawn, 1000), ("has Python", ".wait.over", 5000)):
            ask = functools.partial(seen, f"{name}.html", there.format(what))
            rows.append((f"the page {name} {words}", ask, most))
    rows.append(("a slider at 2,000 actions, redrawn", slid, 50))
    return [promised(*row) for row in rows]


def promised(name: str, took: Callable[[], float], most: float) -> Race:
    return Race(name, "the site", "its promise", took, lambda: most, unit="ms", runs=3)


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing about it."""

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):  # the page closed before all had come
            super().handle()

    def log_message(self, *_) -> None:
        pass


@functools.cache
def address() -> str:
    """Where the site is, written anew and served from this process."""
    make = [sys.executable, "tools/make_site.py"]
    subprocess.run(make, cwd=ROOT, check=True, capture_output=True)
    serve = functools.partial(Quiet, directory=ROOT / "build/site")
    server = ThreadingHTTPServer(("127.0.0.1", 0), serve)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/"


def seen(path: str, when: str) -> float:
    """Milliseconds from asking for a page, on a first visit, until `when` returns its time."""
    context = browser().new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(address() + path)
    took = page.wait_for_function(when, timeout=LONG).json_value()
    context.close()
    return took


@functools.cache
def explored():
    """The page of the explorer with eight ranks."""
    page = browser().new_page(viewport={"width": 1280, "height": 800})
    page.goto(address() + "explore.html")
    page.locator("[data-key=ranks]").fill("7", timeout=LONG)
    page.locator(".lab-title", has_text="8 ranks").wait_for()
    return page


def slid() -> float:
    """Move the slider of micro-batches to 124, then to 125: 2,000 actions."""
    explored().evaluate(SLIDE, 124)
    return explored().evaluate(SLIDE, 125)
