"""The interactive timeline in headless Chromium: panning over many events, and larger schedules."""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

from bench.race import Race
from helpers.doctor.facts import BROWSERS
from helpers.timeline import timeline
from helpers.timeline.explorer import Settings, explore
from helpers.trace import Event, Trace

EVENTS, RANKS = 100_000, 8
SMOOTH = 33.0  # ms a frame
PAN = """async (share) => {
    const view = document.querySelector('.lab-timeline').timeline, all = view.model.duration;
    view.lookAt(0, share * all);
    const frame = () => new Promise(requestAnimationFrame), times = [];
    await frame();
    for (let n = 0; n < 60; n++) {
        const began = performance.now();
        view.moveTo((1 - share) * all * n / 60);
        await frame();
        await frame();  // the first draws, the second comes when the picture is there
        times.push((performance.now() - began) / 2);
    }
    return times.sort((a, b) => a - b)[30];
}"""
REDRAW = """async () => {
    const view = document.querySelector('.lab-timeline').timeline;
    view.setModel(view.model);
    await new Promise(requestAnimationFrame);
    return view.drawn.rows;
}"""


def races() -> list[Race]:
    """Panning beside a smooth frame, 9 x 25 beside 4 x 8; [] without a browser."""
    if program() is None:
        return []
    small, large = (Settings(ranks=p, micro_batches=m, latency=2) for p, m in ((4, 8), (9, 25)))
    return [
        Race(
            f"pan over a tenth of {EVENTS:,} events, median frame",
            "the timeline",
            "smooth",
            lambda: many().evaluate(PAN, 0.1),
            lambda: SMOOTH,
            unit="ms",
            runs=3,
            note="In Chromium without a GPU.",
        ),
        Race(
            "drawing a schedule anew, as a slider does",
            "9 ranks x 25 micro-batches",
            "4 x 8",
            lambda: explored(large).evaluate(REDRAW),
            lambda: explored(small).evaluate(REDRAW),
            unit="ms",
        ),
    ]


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


@functools.cache
def many():
    """The page of a long trace."""
    return page_of(timeline(trace()))


@functools.cache
def explored(settings: Settings):
    """The page of the explorer with these settings."""
    return page_of(explore(**settings.named()))


def trace() -> Trace:
    """100,000 forwards and backwards on eight ranks."""
    events = []
    for n in range(EVENTS):
        rank, at = n % RANKS, n // RANKS
        start = 1e-3 * at + 1e-4 * rank
        facts = {"stage": rank, "micro_batch": at // 2}
        kind = "FB"[at % 2]
        events.append(Event(rank, kind, start, start + 9e-4, "compute", "", facts))
    return Trace(events)


def page_of(widget):
    """The widget as a page of its own."""
    path = Path(tempfile.mkdtemp()) / "timeline.html"
    widget.save(path)
    page = browser().new_page(viewport={"width": 1200, "height": 900})
    page.goto(path.as_uri())
    page.wait_for_selector(".lab-numbers td", timeout=60_000)
    return page
