"""The site in Chromium, Firefox and WebKit, as many as are installed: one table.

    python tools/browsers.py [NAME ...]     chromium, firefox, webkit; all without a name

Needs `make site`. Debian has them in chromium, firefox-esr, and webkit2gtk-driver with xvfb.
Not 0: a case failed; below the table stands why.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from drivers import Browser, Server, installed

ROOT = Path(__file__).resolve().parents[1]
PAGES = {  # and what is there once a page is ready
    "index.html": "h1",
    "play.html": ".play-chip",
    "explore.html": "#view canvas",
    "design.html": "#view svg",
    "puzzles.html": "textarea",
    "lessons/06_micro_batches.html": ".predict button",
    "lessons/07_beyond_1f1b.html": ".predict button",
}
ORDER = ("0F0", "1F0", "2F0", "3F0", "3B0", "2B0", "1B0", "0B0")  # wins the first level
WIDE = "document.documentElement.scrollWidth - innerWidth"


def opened(window: Browser, site: str, name: str) -> None:
    window.goto("about:blank")
    window.goto(site + name)
    window.until(f"Boolean(document.querySelector({PAGES[name.partition('#')[0]]!r}))")


def fits(window: Browser, site: str, widths: tuple[int, ...]) -> str:
    """Open every page at these widths; none may be wider than the window."""
    for width in widths:
        window.size(width, 900)
        for name in PAGES:
            opened(window, site, name)
            found = window.js(f"[innerWidth, {WIDE}]")
            assert found[1] <= 0, f"{name} is {found[1]} px wider than {found[0]} px"
    return f"{len(PAGES)} pages"


def is_dark(window: Browser, site: str) -> str:
    for name in PAGES:
        opened(window, site, name)
        window.until("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0] < 60")
    return f"{len(PAGES)} pages"


def stands_still(window: Browser, site: str) -> str:
    for name in PAGES:
        opened(window, site, name)
        count = window.js(
            "document.getAnimations().filter((a) => a.playState === 'running').length"
        )
        assert count == 0, f"{name} has {count} animations"
    return f"{len(PAGES)} pages"


def keeps_what_colors_say(window: Browser, site: str) -> str:
    """With colors of the system, forward and backward keep their own."""
    if not window.js("matchMedia('(forced-colors: active)').matches"):
        return "can't"
    opened(window, site, "play.html#level=cap&plan=F0_F0_F0-B0")
    window.until("document.querySelectorAll('.play-box').length === 4")
    look = "getComputedStyle(document.querySelector('.play-box[data-kind={}]')).backgroundColor"
    assert window.js(f"{look.format('F')} !== {look.format('B')}"), "F looks like B"
    return "ok"


def plays(window: Browser, site: str, kind: str) -> str:
    """Win the first level with "mouse", "touch" or "keys"."""
    window.size(390 if kind == "touch" else 1440, 844)
    opened(window, site, "play.html#level=one&plan=___")
    for count, name in enumerate(ORDER, 1):
        if kind == "keys":
            window.js("document.querySelector('.play-board').focus()")
            if count > 1 and ORDER[count - 2][0] != name[0]:
                window.key("ArrowDown" if name[1] == "F" else "ArrowUp")
            window.key(name[1].lower())
        else:
            window.press(f".play-chip[data-name='{name}']", kind)
        window.until(f"document.querySelectorAll('.play-box').length === {count}")
    window.until(
        "document.querySelector('.play-found').textContent.startsWith('That was the naive')"
    )
    return "won"


def slides(window: Browser, site: str) -> str:
    window.size(1440, 900)
    opened(window, site, "explore.html")
    window.press(
        "[data-key=ranks]"
    )  # in its middle; keys change no slider in a Firefox without a screen
    window.until("/#ranks=[89]/.test(location.hash)")
    opened(window, site, "design.html#dp=2&tp=8")
    window.until("document.querySelector('.verdict').textContent.includes('it fits')")
    return "ok"


def solves(window: Browser, site: str) -> str:
    """Run a wrong step; then reload: it's still there."""
    opened(window, site, "puzzles.html")
    wrong = "async def basic(model):\\n    model.load_weights(7)"
    window.js(
        f"(() => {{ const one = document.querySelector('textarea'); one.value = '{wrong}'; "
        "one.dispatchEvent(new Event('input')); })()"
    )
    window.press("button.go")
    window.until("document.querySelector('pre[role=status]').textContent.includes('line 2')")
    opened(window, site, "puzzles.html")
    window.until("document.querySelector('textarea').value.includes('load_weights(7)')")
    return "ok"


def lasts(window: Browser, site: str, server: Server) -> str:
    """End the server after the first visit: play and a lesson still open."""
    window.size(1440, 900)  # on a phone only what was seen is kept
    opened(window, site, "play.html")
    window.press(".play-chip[data-name='0F0']")
    window.until("document.querySelectorAll('.play-box').length === 1")
    kept = "caches.match('{}').then(Boolean)"
    for name in ("lessons/06_micro_batches.html", "engine/lab.zip", "engine/pyodide.asm.wasm"):
        window.until(kept.format(name))
    server.end()
    opened(window, site, "lessons/06_micro_batches.html")
    opened(window, site, "play.html#level=cap&plan=F0__")
    window.until("document.querySelectorAll('.play-box').length === 1")
    return "ok"


CASES: dict[str, tuple[str, Callable]] = {
    "fits at 390, 1024 and 1440 px": ("", lambda w, s, _: fits(w, s, (390, 1024, 1440))),
    "fits at 200 % (of 390 and 1440 px)": ("", lambda w, s, _: fits(w, s, (195, 720))),
    "the first level, mouse": ("", lambda w, s, _: plays(w, s, "mouse")),
    "the first level, keys": ("", lambda w, s, _: plays(w, s, "keys")),
    "the first level, touch": ("", lambda w, s, _: plays(w, s, "touch")),
    "explore and design": ("", lambda w, s, _: slides(w, s)),
    "a puzzle, and a reload": ("", lambda w, s, _: solves(w, s)),
    "dark": ("dark", lambda w, s, _: is_dark(w, s)),
    "reduced motion": ("still", lambda w, s, _: stands_still(w, s)),
    "forced colors": ("forced", lambda w, s, _: keeps_what_colors_say(w, s)),
    "offline after a visit": ("", lasts),
}


def tried(kind: type[Browser], folder: Path, names: list[str] | None = None) -> dict[str, str]:
    """Return {case: what was found}, "FAILED: …" where it isn't as it should be."""
    found = {}
    for mode in ("", "dark", "still", "forced"):
        mine = [n for n in names or CASES if CASES[n][0] == mode]
        if not mine:
            continue
        server, window = Server(folder), kind(mode)
        try:
            for name in mine:
                since = time.monotonic()
                try:
                    said = CASES[name][1](window, server.address, server)
                    found[name] = f"{said}, {time.monotonic() - since:.0f} s"
                except (AssertionError, RuntimeError) as error:
                    found[name] = f"FAILED: {error}"
        finally:
            window.close()
            server.end()
    return found


def main(names: list[str]) -> int:
    kinds = [each for each in installed() if not names or each.name in names]
    table = {each.name: tried(each, ROOT / "build/site") for each in kinds}
    print("| | " + " | ".join(table) + " |\n|---" * 1 + "|---" * len(table) + "|")
    for case in CASES:
        said = (table[name][case].partition(":")[0] for name in table)
        print(f"| {case} | {' | '.join(said)} |")
    bad = [(n, c, s) for n, found in table.items() for c, s in found.items() if "FAILED" in s]
    for name, case, said in bad:
        print(f"{name}, {case}: {said}", file=sys.stderr)
    return bool(bad) or not table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
