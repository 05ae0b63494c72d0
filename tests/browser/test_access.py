"""What axe-core finds on the pages, and how far they jump while they load."""

from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

LONG = (
    "explore-390 index-1440 lessons/06_micro_batches-390 lessons/07 play-1440 puzzles-390".split()
)
ROOT = Path(__file__).resolve().parents[2]
AXE = "axe-core/-/axe-core-4.14.1"
SHA512 = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
READY = {
    "index": "h1",
    "play": ".play-move",
    "explore": "#view canvas",
    "puzzles": "textarea",
    "lessons/06_micro_batches": ".predict button",
    "lessons/07_beyond_1f1b": ".predict button",
}
LOOKS = [(390, "dark"), (1440, "light")]
SHIFTS = """window.shifts = []; new PerformanceObserver((list) => {
  for (const one of list.getEntries())
    if (!one.hadRecentInput) shifts.push([one.value, ...one.sources.map((s) => s.node?.className)]);
}).observe({ type: "layout-shift", buffered: true });"""
VIOLATIONS = """axe.run().then((found) => found.violations.flatMap(
    (rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 160)}`)))"""


@pytest.fixture(scope="module")
def axe():
    """The text of axe-core, from npm's registry by its hash."""
    from pages.vendored import taken

    return taken(ROOT, AXE, (SHA512, {"axe.min.js": "axe"}))["axe"].decode()


@pytest.mark.long_for(*LONG)
@pytest.mark.parametrize(("width", "theme"), LOOKS)
@pytest.mark.parametrize("name", READY)
def test_axe_finds_nothing_and_nothing_jumps(site, page, axe, name, width, theme):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    page.add_init_script(SHIFTS)
    page.goto(f"{site[0]}{name}.html")
    page.wait_for_selector(READY[name])
    page.wait_for_timeout(300)
    jumps = page.evaluate("shifts")
    assert sum(value for value, *_ in jumps) < 0.01, jumps
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.evaluate(axe)
    assert page.evaluate(VIOLATIONS) == []
