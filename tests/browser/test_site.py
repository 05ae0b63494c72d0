"""The site in a browser: read, predict, play, explore, solve."""

import json
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

LESSON = "lessons/06_micro_batches.html"
LOOP = "async def basic(model):\n    while True:\n        pass\n"
WRONG = "async def basic(model):\n    model.load_weights(7)\n    return model\n"


def test_a_lesson_is_read_and_predicted(site, page):
    page.goto(site[0] + LESSON)
    box = page.locator(".predict").first
    name = box.get_attribute("data-id")
    answers = [d for d in page.locator(".reveal").all() if name in d.get_attribute("data-answers")]
    right = json.loads(answers[0].get_attribute("data-answers"))["right"]
    place, wrong = (0, "A") if right != "A" else (1, "B")
    box.locator("button").nth(place).focus()
    page.keyboard.press("Enter")
    assert box.locator("[role=status]").inner_text() == f"You say {wrong}. Read on."
    answers[0].locator("summary").click()
    told = answers[0].inner_text().splitlines()[-1]
    assert told.startswith(f"You said {wrong}; it's {right}")
    number = page.locator("form.number").first
    number.locator("input").fill("-1")
    number.locator("input").press("Enter")
    assert "Not yet" in number.locator("[role=status]").inner_text()
    page.reload()
    pressed = page.locator(".predict").first.locator("[aria-pressed=true]")
    assert pressed.get_attribute("data-letter") == wrong


def test_a_level_is_played_and_a_slider_moved(site, page):
    page.goto(site[0] + "play.html#level=one")
    for _ in range(8):
        page.locator(".play-move:not(.play-not)").click()
    page.get_by_text("placed 8 of 8").wait_for()
    page.goto(site[0] + "explore.html")
    page.locator("#view canvas").first.wait_for()
    page.locator("[data-name=ranks]").focus()
    page.keyboard.press("ArrowRight")
    page.locator(".lab-title", has_text="5 ranks").wait_for()


def test_a_puzzle_that_never_ends_is_stopped_and_the_page_lives(site, page):
    page.goto(site[0] + "puzzles.html")
    editor, said = page.locator("textarea"), page.locator("pre[role=status]")
    editor.fill(WRONG)
    page.get_by_text("Run it", exact=True).click()
    page.wait_for_function(
        "document.querySelector('pre[role=status]').textContent.includes('line 2')"
    )
    assert "load_weights" in said.inner_text()
    editor.fill(LOOP)
    page.keyboard.press("Control+Enter")
    page.wait_for_function(
        "document.querySelector('pre[role=status]').textContent.includes('never ends')"
    )
    editor.fill(WRONG)
    page.get_by_text("Run it", exact=True).click()  # by a Python that was started anew
    page.wait_for_function(
        "document.querySelector('pre[role=status]').textContent.includes('line 2')"
    )


def test_the_editor_numbers_its_lines(site, page):
    page.goto(site[0] + "puzzles.html")
    editor, numbers = page.locator("textarea"), page.locator(".lines")
    editor.fill("# a line that is wider than the editor" + 30 * ", and wider" + "\n" * 60)
    assert numbers.inner_text().split() == [str(n) for n in range(1, 62)]
    editor.press("End")
    editor.press("Control+End")
    page.wait_for_function(
        """() => {
            const [a, b] = ["textarea", ".lines"].map((one) => document.querySelector(one));
            const line = (one) => parseFloat(getComputedStyle(one).lineHeight);
            return a.scrollTop > 100 && a.scrollTop === b.scrollTop && line(a) === line(b);
        }"""
    )
    page.locator("[data-name=gpipe]").click()
    count = editor.input_value().count("\n") + 1
    assert numbers.inner_text().split()[-1] == str(count)


@pytest.mark.long
def test_the_picture_of_a_puzzle_has_its_unit_and_a_look_for_each_word_of_the_legend(site, page):
    page.goto(site[0] + "puzzles.html")
    page.locator("[data-name=pipeline_sharded]").click()
    path = Path(__file__).resolve().parents[2] / "puzzles/eight.py"
    source = path.read_text(encoding="utf-8").partition("async def pipeline_sharded")
    page.locator("textarea").fill("".join(source[1:]).partition("\n\n\n")[0])
    page.get_by_text("Run it", exact=True).click()
    page.locator("#view canvas").wait_for()
    words = page.locator(".lab-legend > span").all_inner_texts()
    assert {"message", "all-gather", "reduce-scatter"} <= set(words)


def test_a_browser_without_webassembly_is_told_so(site, page):
    page.add_init_script("delete globalThis.WebAssembly")
    page.goto(site[0] + "explore.html")
    page.get_by_text("This browser has no WebAssembly").wait_for()
    page.goto(site[0] + "play.html")  # it needs none
    page.locator(".play-move").first.click()
    assert page.locator(".play-lane button").count() == 1


def test_an_address_has_what_was_chosen_or_says_what_is_wrong_in_it(site, page):
    page.goto(site[0] + "explore.html#schedule=ZB-H1&ranks=3")
    page.locator(".lab-title", has_text="ZB-H1: 3 ranks").wait_for()
    page.locator("[data-name=ranks]").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("location.hash === '#schedule=ZB-H1'")
    page.evaluate("location.hash = '#ranks=99'")
    page.locator(".lab-problem", has_text="the address says ranks=99: choose from 1, 2").wait_for()
    page.evaluate("location.hash = '#speed=9'")
    page.locator(".lab-problem", has_text="the address has no setting 'speed'").wait_for()
