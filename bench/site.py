"""The site in headless Chromium, beside what it promises: drawn, and Python answers."""

import atexit
import contextlib
import functools
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench.race import Race

ROOT = Path(__file__).resolve().parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
LESSON = "lessons/06_micro_batches.html"
LONG = 180_000  # ms: a busy machine takes long, and shall be told how long
PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def races() -> list[Race]:
    """Each page beside its promise, as a new visitor finds it; [] without a browser."""
    if program() is None:
        return []
    there = "() => document.querySelector('{}') && performance.now()"
    rows = [("first paint of a lesson", lambda: seen(LESSON, PAINTED), 1000)]
    for name, words, what, most in (
        ("play", "is drawn", ".play-lane", 1000),
        ("explore", "is drawn", "#view canvas", 1000),
        ("explore", "has Python", ".wait.over", 5000),
    ):
        ask = functools.partial(seen, f"{name}.html", there.format(what))
        rows.append((f"the page {name} {words}", ask, most))
    return [promised(*row) for row in rows]


def promised(name: str, took: Callable[[], float], most: float) -> Race:
    return Race(name, "the site", "its promise", took, lambda: most, unit="ms", runs=3)


def program() -> str | None:
    """The path of Chromium or Chrome."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@functools.cache
def browser():
    """Chromium, started for the first race: until the program ends no loop of asyncio can run."""
    from playwright.sync_api import sync_playwright

    driver = sync_playwright().start()
    atexit.register(driver.stop)
    return driver.chromium.launch(executable_path=program(), args=["--no-sandbox", "--disable-gpu"])


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
