"""What a visitor of the site has done stays done: in two tabs, and after a reload."""

import pytest

from helpers.lesson.asked import Number, asked

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

WRONG = "async def basic(model):\n    model.load_weights(7)\n    return model\n"
SAID = "document.querySelector('pre[role=status]').textContent"
# One after the other: a lesson's links to its own headings, and how far from the top they land.
LANDED = """async () => {
    await new Promise((done) => setTimeout(done, 700));
    return document.getElementById(location.hash.slice(1)).getBoundingClientRect().top;
}"""


def tab(tabs, address):
    """Another tab of the same visitor."""
    opened = tabs.context.new_page()
    opened.goto(address)
    return opened


@pytest.mark.parametrize("width", [1280, 390])
def test_a_link_to_a_heading_lands_on_it(site, page, width):
    page.set_viewport_size({"width": width, "height": 800})
    for name, heading in [
        ("07_beyond_1f1b", "two-halves-of-a-backward"),
        ("06_micro_batches", "what-to-remember"),
    ]:
        page.goto("about:blank")
        page.goto(f"{site[0]}lessons/{name}.html#{heading}")
        assert abs(page.evaluate(LANDED)) < 5
        images = page.locator(".picture img").all()
        assert all(image.get_attribute("height") for image in images)


def test_a_number_field_takes_numbers_and_no_other(site, page):
    page.goto(f"{site[0]}lessons/07_beyond_1f1b.html")
    form = page.locator("form.number").first
    truth = asked(form.get_attribute("data-id"), Number).truth
    right = truth() if callable(truth) else truth
    for text, words in [
        ("1e999", "Write a number"),
        ("9" * 400, "Write a number"),
        ("2,5", "Write a decimal point"),
        ("0,125", "✗ Not yet"),
        ("", "Write a number"),
        ("-", "Write a number"),
        (".", "Write a number"),
        ("12,500", "12,500 is too large"),
        ("1_000.5", "1,000.5 is too large"),
        ("−3", "✗ Not yet"),
        (str(right), "✓ Right"),
    ]:
        form.locator("input").fill(text)
        form.locator("input").press("Enter")
        assert words in form.locator("[role=status]").inner_text(), text


@pytest.mark.long
def test_a_run_belongs_to_the_puzzle_that_was_run(site, page):
    page.goto(f"{site[0]}puzzles.html")
    page.locator("textarea").fill(WRONG)
    page.get_by_text("Run it", exact=True).click()
    assert "running…" in page.locator("pre[role=status]").inner_text() or page.wait_for_function(
        f"{SAID}.includes('Python is')"
    )
    page.locator("[data-name=gpipe]").click()
    page.wait_for_function("!document.querySelector('button.go').disabled")
    assert page.locator("pre[role=status]").inner_text() == ""
    page.locator("[data-name=basic]").click()
    assert "line 2" in page.locator("pre[role=status]").inner_text()


def test_the_puzzle_that_was_solved_is_ticked_and_no_other(site, page):
    met = '{"problem": "", "title": "solved", "met": true, "star": false}'
    page.route("**/worker.js", lambda route: route.fulfill(
        content_type="text/javascript",
        body=f"""postMessage({{ ready: true }});
            const soon = () => new Promise((done) => setTimeout(done, 300));
            onmessage = async ({{ data }}) => {{ await soon(); postMessage({{
                id: data.id, said: {{ ...{met}, head: null }}, body: null }}); }};""",
    ))  # fmt: skip
    page.goto(f"{site[0]}puzzles.html")
    page.locator("[data-name=gpipe]").wait_for()
    page.get_by_text("Run it", exact=True).click()
    page.locator("[data-name=gpipe]").click()
    page.wait_for_function("!document.querySelector('button.go').disabled")
    assert page.locator("[data-name=basic]").inner_text().startswith("✓")
    assert page.locator("[data-name=gpipe]").inner_text() == "gpipe"


def test_what_is_written_in_two_tabs_is_kept_and_start_again_can_be_taken_back(site, page):
    address = f"{site[0]}puzzles.html"
    page.goto(address)
    page.locator("[data-name=gpipe]").wait_for()
    other = tab(page, address)
    other.locator("[data-name=gpipe]").click()
    page.locator("textarea").fill("# an hour of work")
    other.locator("textarea").press_sequentially("x")
    page.reload()
    page.wait_for_function("document.querySelector('textarea')?.value === '# an hour of work'")
    page.get_by_text("Start again", exact=True).click()
    assert "your step" in page.locator("textarea").input_value()
    page.locator("textarea").press("Control+z")
    assert page.locator("textarea").input_value() == "# an hour of work"
    page.locator("textarea").press("Control+y")
    page.reload()
    page.get_by_text("Bring my step back", exact=True).click()
    assert page.locator("textarea").input_value() == "# an hour of work"
    page.get_by_text("Start again", exact=True).wait_for()


def test_what_an_older_page_kept_is_still_there(site, page):
    page.goto(f"{site[0]}index.html")
    page.evaluate("""localStorage["lab-puzzles"] = '{"basic": "# old"}';
        localStorage["lab-play"] = '{"one": {"best": 8, "helped": false}}'""")
    page.goto(f"{site[0]}puzzles.html")
    page.wait_for_function("document.querySelector('textarea')?.value === '# old'")
    page.goto(f"{site[0]}play.html")
    assert "One micro-batch ✓ 8 s" in page.locator(".lab-play select").inner_text()


@pytest.mark.long
def test_predictions_and_levels_of_two_tabs_are_both_kept(site, page):
    names = ("03_data_parallel_gradients", "07_beyond_1f1b")
    page.goto(f"{site[0]}lessons/{names[0]}.html")
    other = tab(page, f"{site[0]}lessons/{names[1]}.html")
    for one in (page, other):
        one.locator(".predict button").first.click()
    for one in (page, other):
        one.reload()
        assert one.locator(".predict [aria-pressed=true]").count() == 1
    page.goto(f"{site[0]}play.html#level=one")
    other.goto(f"{site[0]}play.html")
    other.evaluate("localStorage.setItem('lab-play/cap', '{\"best\": 16, \"helped\": false}')")
    for name in ("0F0", "1F0", "2F0", "3F0", "3B0", "2B0", "1B0", "0B0"):
        page.locator(f".play-move[data-name='{name}']").click()
    other.reload()
    won = other.locator(".lab-play option", has_text="✓").all_inner_texts()
    assert won == ["1. One micro-batch ✓ 8 s", "3. Not enough room ✓ 16 s"]
