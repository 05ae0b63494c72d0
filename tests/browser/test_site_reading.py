"""The first page's plan, and reading a lesson: contents, code, steps, search."""

import re

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

SHIFTS = """moved = 0; new PerformanceObserver((list) => list.getEntries()
    .forEach((one) => { moved += one.value; })).observe({type: "layout-shift", buffered: true})"""


def test_a_plan_is_moved_simulated_measured_and_hangs(site, page):
    page.goto(site[0])
    said, times = page.locator(".heard"), page.locator("#times strong")
    before = [int(text.split()[0]) for text in times.all_inner_texts()]
    assert before[0] == 920 and before[0] <= before[1] < 1.1 * before[0]
    for rank, at in ((1, 4), (0, 7)):  # 200 ms faster, then slower: no run was recorded
        page.locator(".plan").nth(rank).locator("button").nth(at).click()
    slower = int(times.first.inner_text().split()[0])
    assert slower > 720 and page.locator("#times .lane").count() == 3
    assert "No run of this plan was recorded" in page.locator("#times").inner_text()
    faster = page.locator("[data-do=faster]")
    faster.click()
    assert said.inner_text().startswith(f"{slower - 720} ms faster than before. Three real")
    assert faster.is_disabled() and faster.inner_text() == "No plan here is faster"
    page.get_by_text("Make it hang").click()
    assert "deadlock: rank 0 waits for rank 1" in said.inner_text()
    assert times.all_inner_texts() == ["it never ends", "refused"]
    page.get_by_text("Start again").click()
    box = page.get_by_label("B0 of rank 2: move it left")
    box.focus()
    page.keyboard.press("Enter")
    assert said.inner_text() == "Not a plan: rank 2 can't do B0 before F0 of its own."
    assert box.evaluate("one => one === document.activeElement")
    page.keyboard.press("Enter")
    assert said.inner_text().startswith("B0 is what rank 2 does first")


@pytest.mark.parametrize("width", [1280, 390])
def test_a_lesson_has_its_contents_and_its_code_at_hand_and_nothing_moves(site, page, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.add_init_script(SHIFTS)
    page.goto(f"{site[0]}lessons/07_beyond_1f1b.html#what-to-remember")
    page.locator(".toc .now", has_text="What to remember").wait_for(state="attached")
    assert page.evaluate("moved") < 0.01
    contents = page.locator(".toc ol")
    assert contents.is_visible() == (width > 1100)
    page.evaluate("document.querySelector('.toc').open = true")
    contents.get_by_text("Two halves of a backward").click()
    page.locator(".toc .now", has_text="Two halves of a backward").wait_for(state="attached")
    page.mouse.wheel(0, -3000)
    page.locator(".toc .now", has_text="Two halves").wait_for(state="detached")
    code = page.locator("pre.code")
    for words, seen in (("Show", code.count()), ("Hide", 0), ("Show", code.count())):
        page.locator("[data-code]").dispatch_event("click")
        assert code.evaluate_all("all => all.filter((one) => one.checkVisibility()).length") == seen
        assert words not in page.locator("[data-code]").inner_text()


@pytest.mark.long
def test_nothing_of_a_page_is_against_its_policy(site, browser):
    context, bad = browser.new_context(), []
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.on("console", lambda said: bad.append(said.text) if said.type == "error" else None)
    for name in ("index.html", "lessons/07_beyond_1f1b.html", "search.html?q=ring", "explore.html"):
        page.goto(site[0] + name)
        page.locator("h1").wait_for()
    page.locator("#view canvas").first.wait_for()
    page.goto(f"{site[0]}puzzles.html")
    page.locator("textarea").fill("async def basic(model):\n    model.load_weights(7)\n")
    page.get_by_text("Run it", exact=True).click()  # by Python, in a worker
    page.locator("pre[role=status]", has_text="line 2").wait_for()
    assert bad == []
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), "
                  "{textContent: 'let x'}))")  # fmt: skip
    assert "Content Security Policy" in bad[0]
    context.close()


def test_a_search_knows_a_collective_by_each_of_its_spellings(site, page):
    found = []
    for name in ("all-reduce", "allreduce", "all-to-all", "alltoall"):
        page.goto(f"{site[0]}search.html?q={name}+bandwidth")
        page.locator("main [role=status]", has_text="places for").wait_for()
        found.append(page.locator(".found a").all_inner_texts())
    assert found[0] == found[1] != [] and found[2] == found[3] != []


def test_a_search_finds_a_section_by_words_in_it(site, page):
    page.goto(f"{site[0]}lessons/05_naive_pipeline.html")
    page.get_by_label("Search all lessons").fill("zero bubbl")
    page.keyboard.press("Enter")
    page.locator("[role=status]", has_text=re.compile(r"^(The first )?\d+ places")).wait_for()
    page.locator(".found a", has_text="Two halves of a backward").first.click()
    page.locator("h1", has_text="Beyond 1F1B").wait_for()
    assert page.url.endswith("07_beyond_1f1b.html#two-halves-of-a-backward")
