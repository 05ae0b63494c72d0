"""The projector's page of a class: who is there, who closed a lid, and a host that is gone."""

import pytest

from tests.helpers.together.hosting import CODE, PAGE, hosted, table

SIZES = {"projector": (1280, 720), "large": (1920, 1080), "old": (1024, 768)}
NAMES = ["<b>ada</b>", "a" * 16, "Grace Hopper", *(f"laptop {n}" for n in range(37))]


@pytest.fixture
def class_of_forty(tmp_path):
    found = table(tmp_path, most=64)
    for name in NAMES:
        found.roster.beat(
            found.roster.join({"code": CODE, "name": name}), {"speed": 9e3, "doing": 2}
        )
    found.losses = [[n * 1000, 7 / (1 + n)] for n in range(30)]
    found.story = "Once upon a time there was a story. " * 12
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_forty_laptops_fit_and_are_readable(browser, class_of_forty, size, theme):
    width, height = SIZES[size]
    with hosted(class_of_forty) as (port, _):
        for laptop in class_of_forty.roster.laptops.values():
            laptop.heard += 1000  # they stay, however slow the browser is
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
        asked, errors = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda told: errors.append(told.text) if told.type == "error" else None)
        page.goto(f"http://127.0.0.1:{port}/{PAGE}/")
        page.wait_for_selector("li:nth-child(40)")
        assert page.locator("li b").first.inner_text() == "<b>ada</b>"
        assert not page.evaluate("document.documentElement.scrollHeight > innerHeight")
        boxes = page.evaluate(  # all at once: the page draws them anew each second
            "[...document.querySelectorAll('li')].map(e => e.getBoundingClientRect().toJSON())"
        )
        assert len(boxes) == 40 and all(b["bottom"] <= height + 1 for b in boxes)
        assert all(b["right"] <= width for b in boxes)
        smallest = page.evaluate(
            "Math.min(...[...document.querySelectorAll('p, li, b, span, blockquote, text')]"
            ".map(e => parseFloat(getComputedStyle(e).fontSize)))"
        )
        assert smallest >= 0.025 * height  # a fortieth of the picture
        back, text = (
            page.evaluate(f"getComputedStyle(document.body).{name}")
            for name in ("backgroundColor", "color")
        )
        assert (sum(map(int, back[4:-1].split(","))) > 380) == (theme == "light") and back != text
        laptop = class_of_forty.roster.laptops[2]
        laptop.heard -= 5000  # it closes its lid
        page.wait_for_selector("li.away")
        assert page.locator("li.away").inner_text().split("\n") == ["Grace Hopper", "○ away"]
        assert page.locator("#counts b").first.inner_text() == "39"
        assert errors == [] and {url.split("/")[2] for url in asked} == {f"127.0.0.1:{port}"}
        page.screenshot(path=f"build/screenshots/together_{size}_{theme}.png")
    page.wait_for_selector("#lost:not([hidden])")
    page.close()
