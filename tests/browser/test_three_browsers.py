"""The site in Chromium, Firefox and WebKitGTK, as many as this machine has: `-k firefox` is one.

Debian has them in chromium, firefox-esr, and webkit2gtk-driver with xvfb.
"""

import json

import pytest

from tests.browser.drivers import Chromium, WebKit, installed
from tests.browser.serving import Server
from tests.browser.test_access import READY

ORDER = ("0F0", "1F0", "2F0", "3F0", "3B0", "2B0", "1B0", "0B0")  # wins the first level
BOXES = "document.querySelectorAll('.play-box').length === {}"
WIDE = "[innerWidth, document.documentElement.scrollWidth - innerWidth]"
WRONG = "async def basic(model):\n    model.load_weights(7)"
ONE = "document.querySelector({!r})"


@pytest.fixture(scope="module")
def window(request):
    """A window of a browser; its mode: "", "dark", "still" (no motion) or "forced" (colors)."""
    kind, mode = request.param
    opened = kind(mode, request.getfixturevalue("browser")) if kind is Chromium else kind(mode)
    yield opened
    opened.close()


def in_each(mode: str = "", but: type | None = None):
    """Run a test in each browser, in a mode. but: the browser that can't."""
    kinds = [kind for kind in installed() if kind is not but]
    rows = [pytest.param((kind, mode), id=f"{kind.name}{mode and '-'}{mode}") for kind in kinds]
    return pytest.mark.parametrize("window", rows, indirect=True)


def visit(window, address, name, fragment=""):
    window.goto("about:blank")
    window.goto(f"{address}{name}.html{fragment}")
    window.until(f"Boolean({ONE.format(READY[name])})")


@pytest.mark.parametrize("width", [390, 1024, 1440, 195, 720])  # the last: 390 and 1440 at 200 %
@in_each()
def test_no_page_is_wider_than_the_window(site, window, width):
    window.size(width, 900)
    for name in READY:
        visit(window, site[0], name)
        found = window.js(WIDE)
        assert found[1] <= 0, f"{name} is {found[1]} px wider than {found[0]} px"


@pytest.mark.parametrize("by", ["mouse", "keys", "touch"])
@in_each()
def test_the_first_level_is_won(site, window, by):
    window.size(390 if by == "touch" else 1440, 844)
    visit(window, site[0], "play", "#level=one&plan=___")
    for count, name in enumerate(ORDER, 1):
        if by == "keys":
            window.js("document.querySelector('.play-board').focus()")
            if count > 1 and ORDER[count - 2][0] != name[0]:
                window.key("ArrowDown" if name[1] == "F" else "ArrowUp")
            window.key(name[1].lower())
        else:
            window.press(f".play-chip[data-name='{name}']", by)
        window.until(BOXES.format(count))
    window.until(f"{ONE.format('.play-found')}.textContent.startsWith('That was the naive')")


@in_each()
def test_a_slider_moves_and_an_address_has_a_layout(site, window):
    window.size(1440, 900)
    visit(window, site[0], "explore")
    window.press("[data-key=ranks]")  # keys change no slider in a Firefox without a screen
    window.until("/#ranks=[89]/.test(location.hash)")
    visit(window, site[0], "design", "#dp=2&tp=8")
    window.until(f"{ONE.format('.verdict')}.textContent.includes('it fits')")


@in_each()
def test_a_step_is_run_and_is_there_after_a_reload(site, window):
    visit(window, site[0], "puzzles")
    window.js(
        f"(() => {{ const one = document.querySelector('textarea'); "
        f"one.value = {json.dumps(WRONG)}; one.dispatchEvent(new Event('input')); }})()"
    )
    window.press("button.go")
    window.until(f"{ONE.format('pre[role=status]')}.textContent.includes('line 2')")
    visit(window, site[0], "puzzles")
    window.until(f"{ONE.format('textarea')}.value.includes('load_weights(7)')")


@in_each()
def test_after_a_visit_the_site_lasts_without_its_server(site, window):
    window.size(1440, 900)  # on a phone only what was seen is kept
    with Server(site[1]) as server:
        visit(window, server.address, "play")
        window.press(".play-chip[data-name='0F0']")
        window.until(BOXES.format(1))
        for name in ("lessons/06_micro_batches.html", "engine/lab.zip", "engine/pyodide.asm.wasm"):
            window.until(f"caches.match('{name}').then(Boolean)")
    visit(window, server.address, "lessons/06_micro_batches")
    visit(window, server.address, "play", "#level=cap&plan=F0__")
    window.until(BOXES.format(1))


@in_each("dark")
def test_every_page_is_dark(site, window):
    for name in READY:
        visit(window, site[0], name)
        window.until("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0] < 60")


@in_each("still")
def test_nothing_moves_on_its_own(site, window):
    for name in READY:
        visit(window, site[0], name)
        running = "document.getAnimations().filter((a) => a.playState === 'running').length"
        assert window.js(running) == 0, name


@in_each("forced", but=WebKit)
def test_forward_and_backward_keep_their_colors(site, window):
    assert window.js("matchMedia('(forced-colors: active)').matches")
    visit(window, site[0], "play", "#level=cap&plan=F0_F0_F0-B0")
    window.until(BOXES.format(4))
    look = "getComputedStyle(document.querySelector('.play-box[data-kind={}]')).backgroundColor"
    assert window.js(f"{look.format('F')} !== {look.format('B')}"), "F looks like B"
