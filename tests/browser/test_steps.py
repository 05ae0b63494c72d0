"""Pictures that one steps through, and those that answer a click, with no notebook around them."""

import json

import pytest

from helpers.draw import process_grid, ring
from helpers.lesson.stepper import stepper
from helpers.timeline.clicks import Clickable

pytestmark = [pytest.mark.slow, pytest.mark.ranks]


@pytest.fixture
def opened(page):
    """Open a page with a widget alone, and return where it stands."""

    def open_with(widget):
        script = str(widget._esm).replace("export default", "const widget =")
        model = f"{{get: () => ({json.dumps(widget.pages)})}}"
        start = f"widget.render({{model: {model}, el: document.getElementById('here')}});"
        script = f"{script}\n{start}".replace("</script", "<\\/script")
        text = f"<!doctype html><meta charset=utf-8><style>{widget._css}</style><div id=here></div>"
        page.set_content(f"{text}<script type=module>{script}</script>")
        page.locator("#here svg").wait_for()
        return page.locator("#here")

    return open_with


def shown(place) -> str:
    return place.locator("svg").get_attribute("aria-label")


def test_steps_go_by_buttons_and_keys_and_play_to_the_end(opened, page):
    steps = stepper(
        lambda _: {f"{n} ranks": [ring(n, k) for k in range(2 * n - 1)] for n in (3, 2)}
    )
    here = opened(steps)
    said, on = here.get_by_role("status"), here.get_by_label("one step on")
    assert said.inner_text() == "step 0 of 4" and here.get_by_label("one step back").is_disabled()
    on.click()
    assert said.inner_text() == "step 1 of 4" and shown(here) == steps.series["3 ranks"][1].alt
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert said.inner_text() == "step 2 of 4"
    here.get_by_text("2 ranks", exact=True).click()
    assert said.inner_text() == "step 0 of 2" and shown(here) == steps.series["2 ranks"][0].alt
    here.get_by_label("play all steps").click()
    here.get_by_text("step 2 of 2").wait_for()
    here.get_by_text("play", exact=True).wait_for()
    assert on.is_disabled()
    page.keyboard.press("Escape")
    assert said.inner_text() == "step 0 of 4"


def test_a_click_on_a_part_or_on_its_name_leads_to_its_picture(opened, page):
    pictures = {"all": process_grid(1, 2)}
    pictures |= {f"rank {rank}": process_grid(1, 2, rank) for rank in range(2)}
    here = opened(Clickable(pictures))
    assert here.locator("button").count() == 3 and shown(here) == pictures["all"].alt
    here.locator("rect:has(title)", has_text="rank 1").first.click()
    assert shown(here) == pictures["rank 1"].alt
    assert here.locator("[aria-pressed=true]").inner_text() == "rank 1"
    here.get_by_role("button", name="rank 0").click()
    assert shown(here) == pictures["rank 0"].alt
    page.keyboard.press("Escape")
    assert shown(here) == pictures["all"].alt
