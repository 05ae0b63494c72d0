"""The timeline in a real page: sliders, keys, the pointer, and the numbers beside the picture."""

import pytest
import torch
from torch.profiler import record_function

from helpers.simulate import simulate
from helpers.timeline import timeline
from helpers.timeline.__main__ import main
from helpers.timeline.settings import Settings
from helpers.trace import Event, Trace, bubble, busy, idle_by_cause, in_lanes, peak, with_waits
from helpers.trace.examples import pipeline

pytestmark = [pytest.mark.slow, pytest.mark.ranks, pytest.mark.timeout(600)]
CELLS = [
    "from helpers.timeline import compare, explore, timeline\n"
    "from helpers.trace.examples import data_parallel, pipeline",
    "explorer = explore(ranks=4, micro_batches=8, latency=2)\nexplorer",
    "compare(explorer.trace, pipeline(4, 8))",
    "timeline(data_parallel())",
]
VIEW = "document.querySelectorAll('.lab-timeline')[{}].timeline"


@pytest.fixture(scope="module")
def pages(running_lab):
    """The notebook with the three widgets, drawn."""
    page = running_lab.open(running_lab.write("timeline.ipynb", CELLS))
    running_lab.run_all(page)
    page.wait_for_function("document.querySelectorAll('.lab-numbers td').length > 16")
    yield page
    page.close()


def test_a_slider_changes_the_step_and_its_numbers(pages, running_lab):
    root = pages.locator(".lab-timeline").first
    before = numbers(pages, 0)
    assert_close(before, Settings(latency=2))
    move(root, "micro_batches", 12)
    wait_for(pages, 0, "model.parts[0].actions[0].length === 24")
    after = numbers(pages, 0)
    assert_close(after, Settings(latency=2, micro_batches=12))
    assert after["bubbleTotal"] < before["bubbleTotal"]
    assert "12 micro-batches" in root.locator(".lab-title").inner_text()
    shown = root.locator("td[data-key=bubbleTotal]").inner_text()
    assert shown == f"{100 * after['bubbleTotal']:.0f} %"


def test_what_cannot_run_is_said_and_the_picture_stays(pages):
    root = pages.locator(".lab-timeline").first
    move(root, "limit", 0)  # 100 MB, and rank 0 of 1F1B keeps four times as much
    # Another problem may stand there first: that Python has not answered for some seconds.
    root.locator(".lab-problem", has_text="the limit is 100 MB").wait_for()
    assert numbers(pages, 0)["duration"] > 0
    move(root, "limit", "last")
    root.locator(".lab-problem").wait_for(state="hidden")


def test_the_pointer_says_why_a_rank_is_idle(pages):
    root = pages.locator(".lab-timeline").nth(2)
    point(pages, 2, row=0, time=0.040)  # rank 0 has averaged, rank 2 still computes
    tip = root.locator(".lab-tip").inner_text()
    assert "rank 0 waits for rank 2" in tip
    assert "It waits for rank 2, which comes last to the all-reduce." in tip
    point(pages, 2, row=0, time=0.020)
    assert "B on rank 0 (backward)" in root.locator(".lab-tip").inner_text()


def test_keys_step_follow_zoom_and_help(pages):
    root, view = pages.locator(".lab-timeline").nth(1), VIEW.format(1)
    root.locator(".lab-stage").focus()
    for key in (".", ".", "ArrowDown", "Enter"):
        pages.keyboard.press(key)
    status = root.locator(".lab-status").inner_text()
    assert "F0 on rank 1 (forward)" in status and "Micro-batch 0 is followed" in status
    assert pages.evaluate(f"{view}.followed") == 0
    pages.keyboard.press("+")
    assert pages.evaluate(f"{view}.window[1] - {view}.window[0]") < 0.3
    pages.keyboard.press("0")
    pages.keyboard.press("?")
    assert root.locator(".lab-keys").is_visible()
    pages.keyboard.press("?")
    pages.keyboard.press(" ")
    wait_for(pages, 1, "head > 0")
    pages.keyboard.press("Escape")
    assert pages.evaluate(f"[{view}.followed, {view}.head, {view}.player.frame]") == [None, None, 0]


def test_a_click_finds_the_action_by_rank_and_index(pages):
    view = VIEW.format(1)
    x, y = place_of(pages, 1, row=2, time=0.05)  # 1F1B: rank 2 waits, its comm. lane is hatched
    canvas = pages.locator(".lab-timeline").nth(1).locator(".lab-marks")
    canvas.click(position={"x": x, "y": y})
    assert pages.evaluate(f"{view}.selected") is None
    x, y = place_of(pages, 1, row=2, time=0.04)
    canvas.click(position={"x": x, "y": y})
    chosen = pages.evaluate(f"[{view}.selected.row, {view}.followed]")
    place = pages.evaluate(f"{view}.model.parts[0].actions[2].indexOf({view}.selected.event)")
    assert (chosen, place) == ([2, 1], 1)  # 1F1B on rank 2 of 4: F0, F1, B0 ...
    pages.keyboard.press("Escape")


def test_the_wheel_zooms_and_the_strip_measures(pages):
    view, root = VIEW.format(2), pages.locator(".lab-timeline").nth(2)
    root.locator(".lab-stage").focus()
    point(pages, 2, row=0, time=0.05)
    pages.mouse.wheel(0, -300)
    wait_for(pages, 2, "window")
    a, b = pages.evaluate(f"{view}.window")
    assert a < 0.05 < b and b - a == pytest.approx(0.106 / 2.718, rel=0.01)
    pages.keyboard.press("0")
    strip = root.locator(".lab-overview")
    box = strip.bounding_box()
    left, right = pages.evaluate(f"[{view}.layout.left, {view}.layout.right]")
    pages.mouse.move(box["x"] + left, box["y"] + 10)
    pages.mouse.down()
    pages.mouse.move(box["x"] + (left + right) / 2, box["y"] + 10, steps=3)
    pages.mouse.up()
    wait_for(pages, 2, "numbers !== null")
    start, end = pages.evaluate(f"{view}.range")
    assert (start, end) == pytest.approx((0, 0.053), abs=0.001)
    assert root.locator("td[data-key=utilisation]").inner_text() == "72 %"
    pages.keyboard.press("z")


def test_numbers_are_those_of_the_trace_and_follow_the_range(pages):
    traces = simulate_default(), pipeline(4, 8)
    for number, trace in enumerate(traces):
        assert_same(numbers(pages, 1, number), trace.from_zero())
    drag(pages, 1, 0.050, 0.150)
    a, b = pages.evaluate(f"{VIEW.format(1)}.range")
    assert 0.04 < a < 0.06 and 0.14 < b < 0.16
    for number, trace in enumerate(traces):
        seen = numbers(pages, 1, number)
        cut = trace.from_zero().between(a, b)
        work = sum(seen["busy"]) / (len(cut.ranks) * (b - a))
        assert seen["utilisation"] == pytest.approx(work)
        assert sum(seen["busy"]) == pytest.approx(sum(busy(cut).values()))
    assert "50" in pages.locator(".lab-caption").nth(1).inner_text()


def test_the_theme_is_that_of_the_page(pages, running_lab):
    running_lab.screenshot(pages, "timeline")
    root = pages.locator(".lab-timeline").first
    assert root.get_attribute("data-theme") == "light"
    pages.evaluate("document.body.dataset.jpThemeLight = 'false'")
    pages.wait_for_function("document.querySelector('.lab-timeline').dataset.theme === 'dark'")
    running_lab.screenshot(pages, "timeline_dark")
    pages.evaluate("document.body.dataset.jpThemeLight = 'true'")


def test_a_saved_page_needs_no_python_and_no_network(pages, running_lab, tmp_path):
    root = pages.locator(".lab-timeline").nth(1)
    with pages.expect_download() as got:
        root.get_by_label("save as HTML").click()
    path = tmp_path / "saved.html"
    got.value.save_as(path)
    asked = []
    page = running_lab.context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector(".lab-numbers td")
    assert asked == [path.as_uri()]
    for number, trace in enumerate((simulate_default(), pipeline(4, 8))):
        assert_same(numbers(page, 0, number), trace.from_zero())
    page.close()
    assert running_lab.outside == []


def test_events_stand_row_by_row_in_the_order_they_start_the_outer_before_the_inner(
    running_lab, tmp_path
):
    events = [
        Event(1, "recv", 0, 2, info={"tag": 1, "peer": 0}, lane="communication"),
        Event(1, "B", 0, 1, info={"why": "late"}),
        Event(0, "inner", 2, 3),
        Event(0, "outer", 2, 5, info={"bytes": 7}),
        Event(0, "send", 0, 2, info={"tag": 1, "peer": 1}, lane="communication"),
        Event(0, "F", 1, 2),
        Event(0, "nothing", 2, 2),
    ]
    timeline(Trace(events)).save(tmp_path / "order.html")
    page = running_lab.context.new_page()
    page.goto((tmp_path / "order.html").as_uri())
    page.wait_for_selector(".lab-numbers td")
    seen = page.evaluate("""() => {
        const { parts: [part] } = document.querySelector(".lab-timeline").timeline.model;
        const facts = (key) => [...part.facts[key].entries].map((x) => (isNaN(x) ? null : x));
        const kinds = [...part.kind].map((k) => part.kinds[k].kind), { words } = part.facts.why;
        return { kinds, words, sent: [...part.send], got: [...part.recv],
                 bytes: facts("bytes"), why: facts("why") };
    }""")
    page.close()
    drawn = [k for k in seen["kinds"] if k != "wait"]
    assert drawn == ["F", "nothing", "outer", "inner", "send", "B", "recv"]
    where = {kind: place for place, kind in enumerate(seen["kinds"])}
    assert (seen["sent"], seen["got"]) == ([where["send"]], [where["recv"]])
    assert [n for n, x in enumerate(seen["bytes"]) if x is not None] == [where["outer"]]
    assert seen["words"][seen["why"][where["B"]]] == "late"


@pytest.mark.long
def test_a_profile_of_torch_opens_in_three_lanes(running_lab, tmp_path):
    net, x = torch.nn.Linear(64, 64), torch.ones(256, 64)
    schedule = torch.profiler.schedule(wait=0, warmup=1, active=2)

    def write(profiler):
        profiler.export_chrome_trace(str(tmp_path / "profile.json"))

    with torch.profiler.profile(schedule=schedule, on_trace_ready=write) as profiler:
        for _ in range(3):
            with record_function("forward"):
                loss = net(x).sum()
            with record_function("backward"):
                loss.backward()
            profiler.step()
    flags = ["--lanes", "-o", str(tmp_path / "profile.html")]
    assert main([str(tmp_path / "profile.json"), *flags]) == 0
    page = running_lab.context.new_page()
    page.goto((tmp_path / "profile.html").as_uri())
    page.wait_for_selector(".lab-numbers td")
    shown = in_lanes(Trace.load(tmp_path / "profile.json"))
    seen = numbers(page, 0)
    assert seen["duration"] == pytest.approx(shown.duration)
    assert seen["busy"] == pytest.approx(list(busy(shown).values()))
    assert "forward" in page.locator(".lab-legend").inner_text()
    page.close()


# --- what the tests do on a page -----------------------------------------------------------------


def simulate_default():
    return simulate(Settings(latency=2).made(), Settings(latency=2).costs()).trace


def numbers(page, widget, part=0):
    return page.evaluate(f"{VIEW.format(widget)}.numbers[{part}]")


def wait_for(page, widget, what):
    page.wait_for_function(f"{VIEW.format(widget)}.{what}")


def move(root, key, place):
    """Move a slider to a place, as a hand does: its value, then the event."""
    slider = root.locator(f"[data-key={key}]")
    if key == "micro_batches":
        place -= 1  # its first place is 1
    place = slider.get_attribute("max") if place == "last" else place
    slider.evaluate(
        "(input, place) => { input.value = place; input.dispatchEvent(new Event('input')); }",
        str(place),
    )


def place_of(page, widget, row, time):
    return page.evaluate(
        f"([row, time]) => [{VIEW.format(widget)}.axis().x(time), "
        f"{VIEW.format(widget)}.layout.parts[0].rows[row].top + 8]",
        [row, time],
    )


def point(page, widget, row, time):
    x, y = place_of(page, widget, row, time)
    canvas = page.locator(".lab-timeline").nth(widget).locator(".lab-marks")
    canvas.hover(position={"x": x, "y": y})


def drag(page, widget, start, end):
    """With Shift: measure a range."""
    canvas = page.locator(".lab-timeline").nth(widget).locator(".lab-marks")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    (x0, y), (x1, _) = (place_of(page, widget, 0, time) for time in (start, end))
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + x0, box["y"] + y)
    page.mouse.down()
    page.mouse.move(box["x"] + x1, box["y"] + y, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    page.wait_for_function(f"{VIEW.format(widget)}.range && {VIEW.format(widget)}.numbers")


def assert_close(seen, settings):
    """What the page counts is what the simulation says."""
    done = settings.simulated()
    assert seen["duration"] == pytest.approx(done.step_time)
    assert seen["bubbleTotal"] == pytest.approx(done.bubble())
    assert seen["bubbleIdeal"] == pytest.approx(done.bubble("ideal"))
    assert seen["peaks"] == pytest.approx(done.peak_memory)
    assert (seen["messages"], seen["bytes"]) == (done.messages, done.bytes)


def assert_same(seen, trace):
    """What the page counts is what helpers.trace counts."""
    waits = [causes["wait"] for causes in idle_by_cause(with_waits(trace)).values()]
    assert seen["duration"] == pytest.approx(trace.duration)
    assert seen["utilisation"] == pytest.approx(1 - bubble(trace))
    assert seen["bubbleTotal"] == pytest.approx(bubble(trace))
    assert seen["bubbleIdeal"] == pytest.approx(bubble(trace, "ideal"))
    assert seen["busy"] == pytest.approx(list(busy(trace).values()))
    assert seen["waiting"] == pytest.approx(waits, abs=1e-12)
    finished = [causes["finished"] for causes in idle_by_cause(with_waits(trace)).values()]
    room = len(finished) * trace.duration
    assert seen["finished"] == pytest.approx(sum(finished) / room, abs=1e-12)
    assert seen["peaks"] == pytest.approx(list(peak(trace).values()))
