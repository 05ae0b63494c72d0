"""What a notebook does to the widgets on it: keys it would like to have, style meant for text."""

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.ranks, pytest.mark.timeout(600)]
CELLS = [
    "from helpers.timeline import compare, explore, timeline\n"
    "from helpers.trace import Event, Trace\n"
    "from helpers.trace.examples import data_parallel, pipeline",
    "explore(ranks=4, micro_batches=8, latency=2, message=0)",
    "timeline(data_parallel())",
    'message = {"peer": 1, "bytes": 9}, {"peer": 0, "bytes": 9}\n'
    'sends = [Event(0, "send", 1, 3, info=message[0]), Event(1, "recv", 0, 3, info=message[1])]\n'
    "timeline(Trace(sends))",
    "timeline(Trace())",
    "compare(pipeline(4, 6), data_parallel())",
    "from helpers.cluster import design\ndesign()",
    "from helpers.play import play\nplay('one')",
    "# A heading below would be folded by a key that the notebook takes for itself.",
]
EXPLORE, DATA_PARALLEL, MESSAGES, EMPTY, BOTH = range(5)
VIEW = "document.querySelectorAll('.lab-timeline')[{}].timeline"
FOCUS = "document.activeElement.dataset.key ?? document.activeElement.className"
# Pairs of neighbors that lie on each other, and texts that do not fit into their own box.
OVERLAPS = """(root, names) => {
    const found = [];
    for (const one of root.querySelectorAll(names)) {
        const a = one.getBoundingClientRect(), after = one.nextElementSibling;
        if (!a.width || getComputedStyle(one).visibility === "hidden") continue;
        if (one.scrollWidth > one.clientWidth + 1 && one.clientWidth) found.push(one.textContent);
        if (!after) continue;
        const b = after.getBoundingClientRect();
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 1 && high > 1) found.push(`${one.textContent} / ${after.textContent}`);
    }
    return found;
}"""
NAMES = "dt, dd, dl > div, .lab-panel label > *, .lab-tools > *, .lab-legend > *, .lab-numbers th"


@pytest.fixture(scope="module")
def page(running_lab):
    """A notebook with timelines of several kinds, run."""
    page = running_lab.open(running_lab.write("widgets.ipynb", CELLS))
    running_lab.run_all(page)
    page.wait_for_function("document.querySelectorAll('.lab-numbers tbody tr').length === 6")
    page.wait_for_selector(".lab-keeps-keys img")
    yield page
    page.close()


@pytest.mark.long
def test_a_slider_keeps_the_keyboard(page):
    slider = page.locator("[data-key=micro_batches]")
    slider.click()
    before = int(slider.input_value())
    for key, change in (("ArrowRight", 1), ("ArrowLeft", 0), ("ArrowUp", 1), ("ArrowDown", 0)):
        page.keyboard.press(key)
        assert int(slider.input_value()) == before + change
        assert page.evaluate(FOCUS) == "micro_batches"
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUS) == "waves"  # the slider between them belongs to other schedules
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(FOCUS) == "micro_batches"


@pytest.mark.parametrize(
    "control",
    [
        *("[data-key=schedule]", ".lab-tools select", ".lab-stage"),
        *(".lab-keeps-keys select", ".lab-keeps-keys input[type=checkbox]"),
        *(".lab-keeps-keys .noUi-handle", ".play-board"),
    ],
)
def test_no_key_goes_to_the_notebook(page, control):
    """Letters and Escape, which are shortcuts of the notebook, and keys that nobody knows."""
    page.locator(control).first.focus()
    focused, cells = page.evaluate(FOCUS), page.locator(".jp-Notebook .jp-Cell").count()
    for key in ("b", "d", "d", "ArrowLeft", "ArrowDown", "Escape", "Enter", " ", "F2", "m"):
        page.keyboard.press(key)
        if page.evaluate(FOCUS) != focused:
            pytest.fail(f"{key!r} took the focus from {focused} to {page.evaluate(FOCUS)}")
    page.keyboard.press("Escape")
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells == len(CELLS)


def test_the_notebook_is_still_saved_from_a_widget(page):
    ran = "window.ran = []; jupyterapp.commands.commandExecuted.connect((_, it) => ran.push(it.id))"
    page.evaluate(ran)
    for control in ("[data-key=micro_batches]", ".lab-keeps-keys select"):
        page.locator(control).first.focus()
        page.keyboard.press("Control+s")
        page.wait_for_function("ran.splice(0).includes('docmanager:save')")
        assert page.locator(control).first.evaluate("one => one === document.activeElement")


def test_the_schedule_game_asks_the_kernel(page):
    page.locator('[data-level="cap"]').click()
    page.locator(".play-goal", has_text="room for three").wait_for()
    page.locator('.play-chip[data-name="1F0"]').click()
    page.locator(".play-said", has_text="F0 of rank 1 needs F0 of rank 0").wait_for()
    page.locator(".play-board").focus()
    page.keyboard.press("f")
    page.wait_for_selector('.play-box[data-name="0F0"]')


@pytest.mark.parametrize("width", [900, 1920])
def test_labels_stand_beside_their_values(page, running_lab, width):
    page.set_viewport_size({"width": width, "height": 900})
    for widget in (EXPLORE, DATA_PARALLEL, BOTH):
        root = page.locator(".lab-timeline").nth(widget)
        page.wait_for_function(f"{VIEW.format(widget)}.model.duration > 0")
        click(page, widget, row=0, time=0.001)  # a box: its facts stand below
        if root.locator(".lab-keys").is_hidden():
            root.get_by_label("all keys").click()
        point(page, widget, row=0, time=0.001)
        assert root.locator(".lab-tip dd").count() == root.locator(".lab-status dd").count() > 1
        assert root.evaluate(OVERLAPS, NAMES) == []
        keys = root.locator(".lab-keys > div")
        rows = {round(box["y"]) for box in map(lambda k: k.bounding_box(), keys.all())}
        assert len(rows) < keys.count(), "the list of keys has columns"
    running_lab.screenshot(page, "widgets")
    page.set_viewport_size({"width": 1200, "height": 900})


def test_a_collective_is_called_by_its_name(page):
    said = pointed(page, DATA_PARALLEL, row=0, time=0.047)
    assert "rank 0 is in all-reduce from 44 to 50 ms" in said
    assert "B on rank 2" in pointed(page, DATA_PARALLEL, row=2, time=0.040, lane=1)
    assert "waits for rank 2" in pointed(page, DATA_PARALLEL, row=0, time=0.040)


def test_a_message_is_in_transit_and_its_receiver_waits(page):
    assert "waits for rank 0" in pointed(page, MESSAGES, row=1, time=0.5)
    assert "rank 1 waits for a message from rank 0" in pointed(page, MESSAGES, row=1, time=2)
    assert "rank 0 sends a message to rank 1" in pointed(page, MESSAGES, row=0, time=2)
    assert "has not started" in pointed(page, MESSAGES, row=0, time=0.5)


def test_an_action_is_written_as_in_its_box(page):
    said = pointed(page, EXPLORE, row=3, time=0.005)
    assert "F0 needs" in said and "3F0" not in said
    end = page.evaluate(f"{VIEW.format(EXPLORE)}.model.duration")
    assert "rank 3 has finished" in pointed(page, EXPLORE, row=3, time=0.99 * end)


def test_a_trace_is_judged_as_what_it_is(page):
    pipeline = {"bubbleTotal", "bubbleIdeal"}
    shown = [columns(page, widget) for widget in range(5)]
    assert pipeline <= shown[EXPLORE] and pipeline <= shown[BOTH]
    assert not pipeline & (shown[DATA_PARALLEL] | shown[MESSAGES] | shown[EMPTY])
    assert "communicates" in shown[DATA_PARALLEL] and "communicates" not in shown[EXPLORE]
    assert {"messages", "bytes"} <= shown[MESSAGES]
    assert "messages" in shown[EXPLORE] and "bytes" not in shown[EXPLORE]
    bubbles = page.locator(".lab-timeline").nth(BOTH).locator("td[data-key=bubbleIdeal]")
    assert bubbles.all_inner_texts() == ["57 %", "–"]
    root = page.locator(".lab-timeline").nth(DATA_PARALLEL)
    share = root.locator("td[data-key=communicates]").inner_text()
    assert f"communicating {share}" in root.locator(".lab-title").inner_text()


# --- what the tests do on a page -----------------------------------------------------------------


def columns(page, widget):
    cells = page.locator(".lab-timeline").nth(widget).locator("td[data-key]")
    return set(cells.evaluate_all("all => all.map(cell => cell.dataset.key)"))


def place_of(page, widget, row, time, lane=0):
    view = VIEW.format(widget)
    return page.evaluate(
        f"([row, time, lane]) => ({{x: {view}.axis().x(time), "
        f"y: {view}.layout.parts[0].rows[row].lanes[lane].y + 6}})",
        [row, time, lane],
    )


def point(page, widget, row, time, lane=0):
    marks = page.locator(".lab-timeline").nth(widget).locator(".lab-marks")
    marks.hover(position=place_of(page, widget, row, time, lane))


def click(page, widget, row, time):
    marks = page.locator(".lab-timeline").nth(widget).locator(".lab-marks")
    page.evaluate(f"{VIEW.format(widget)}.clear()")
    marks.click(position=place_of(page, widget, row, time))


def pointed(page, widget, row, time, lane=0):
    point(page, widget, row, time, lane)
    return page.locator(".lab-timeline").nth(widget).locator(".lab-tip").inner_text()
