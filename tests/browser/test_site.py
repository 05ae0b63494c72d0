"""On the site one reads, predicts, plays, explores and searches, and finds no solution."""

import json
import re
import zipfile

import pytest

from helpers.check.task import load_module
from helpers.schedules import BadSchedule, check, parse
from helpers.simulate import Costs, simulate
from tests.browser.conftest import ROOT
from tests.said import said

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

LESSON = "lessons/06_micro_batches.html"
TASK = re.compile(r"BEGIN SOLUTION|END SOLUTION")


def test_no_page_and_no_archive_has_a_solution_or_a_script_and_a_lesson_has_its_formulas(site):
    """A link to a script would make Sphinx copy it."""
    for path in site[1].rglob("*"):
        assert path.suffix != ".py" and "_downloads" not in path.parts
        if path.suffix in (".html", ".js", ".json", ".md"):
            assert not TASK.search(path.read_text(encoding="utf-8")), path
    with zipfile.ZipFile(site[1] / "_static/lab.zip") as archive:
        assert not any(TASK.search(archive.read(name).decode()) for name in archive.namelist())
    text = (site[1] / LESSON).read_text(encoding="utf-8")
    assert "06 · Micro-batches" in text and 'class="question"' in text
    assert "minutes to read" in text and "*Reading" not in text
    assert text.count("<math") > 20 and "$" not in re.sub("<pre.*?</pre>", "", text, flags=re.S)
    assert re.search(r'<p>The naive pipeline of <a [^>]*href="05_naive_pipeline.html">', text)
    assert 'href="../play.html#level=cap"' in text


def test_each_plan_of_the_first_page_was_run_or_is_refused():
    plans = load_module(ROOT / "site/plans.py", "plans")
    kept = json.loads(plans.KEPT.read_text(encoding="utf-8"))
    names = list(plans.plans())
    assert list(kept["measured"]) == names and "|".join(kept["start"]) == names[0]
    for name, one in kept["measured"].items():
        schedule = parse("\n".join(f"{n}: {row}" for n, row in enumerate(name.split("|"))))
        if "hangs" in one:
            assert one["hangs"] in said(check, schedule, error=BadSchedule)
        else:
            predicted = simulate(schedule, Costs(*3 * [kept["unit"]])).step_time
            assert predicted <= one["ms"] < 1.1 * predicted


def test_a_lesson_s_questions_are_judged_and_kept_and_its_timeline_comes_alive(site, opened):
    page = opened(site[0] + LESSON)
    assert page.get_by_role("link", name="Forward first").is_visible()  # its sections, at its side
    box = page.locator(".predict").first
    name = box.get_attribute("data-id")
    answers = [d for d in page.locator(".reveal").all() if name in d.get_attribute("data-answers")]
    right = json.loads(answers[0].get_attribute("data-answers"))["right"]
    place, wrong = (0, "A") if right != "A" else (1, "B")
    box.locator("button").nth(place).press("Enter")
    assert box.locator("[role=status]").inner_text() == f"You say {wrong}. Read on."
    answers[0].locator("summary").click()
    assert f"You said {wrong}; it's {right}" in answers[0].inner_text()
    number = page.locator("form.number").first
    truth = json.loads(number.get_attribute("data-facts"))["truth"]
    for typed, words in (("-1", "Not yet"), ("1,0,0", "Write a number"), (str(truth), "✓ Right")):
        number.locator("input").fill(typed)
        number.locator("input").press("Enter")
        assert words in number.locator("[role=status]").inner_text()
    page.reload()
    pressed = page.locator(".predict").first.locator("[aria-pressed=true]")
    assert pressed.get_attribute("data-letter") == wrong
    page.locator("[data-timeline]").first.scroll_into_view_if_needed()
    page.locator(".picture canvas").first.focus()
    page.keyboard.press("ArrowRight")  # which turns no page
    page.get_by_text("F0 on rank 0, forward").wait_for()
    assert page.locator(".lab-timeline").first.bounding_box()["width"] >= 900


def test_a_plan_is_moved_a_level_played_a_slider_moved_and_a_word_searched(site, opened):
    page = opened(site[0])
    page.locator(".plan button[aria-label='F3 of rank 0: move it left']").press("Enter")
    page.get_by_text("800 ms").wait_for()
    page.get_by_text("Make it hang").click()
    page.get_by_text("A deadlock.").wait_for()
    page.goto(site[0] + "play.html#level=one")
    for _ in range(8):
        page.locator(".play-move:not(.play-not)").press("Enter")
    page.get_by_text("placed 8 of 8").wait_for()
    page.goto(site[0] + "explore.html")
    page.locator("#view canvas").first.wait_for()
    page.locator("[data-name=ranks]").press("ArrowRight")
    page.locator(".lab-title", has_text="5 ranks").wait_for()
    assert page.url.endswith("#ranks=5")
    page.goto(site[0] + "search.html?q=bubble")
    page.locator(".search li a").nth(5).wait_for()
    found = [a.get_attribute("href") for a in page.locator(".search li > a").all()]
    # Lessons first, and no page for teachers.
    assert all("lessons/" in each for each in found[:5]) and not any("teach" in e for e in found)
    page.locator(".search .context").nth(5).wait_for()
    assert not re.search("the code|import ", page.locator(".search").inner_text())


@pytest.mark.parametrize(("width", "theme"), [(390, "dark"), (1440, "light")])
@pytest.mark.parametrize("name", ["index", "play", LESSON[:-5]])
def test_axe_finds_nothing_and_nothing_is_too_wide(site, opened, axe, name, width, theme):
    page = opened(f"{site[0]}{name}.html", width, theme)
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    assert axe(page) == []
