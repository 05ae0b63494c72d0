"""The timeline and the game work by mouse and by keys, on a page and in JupyterLab."""

import pytest

from helpers.play import LEVELS
from helpers.play.widget import HERE, html
from helpers.schedules import Schedule, one_f_one_b
from helpers.schedules.schedule import read_action
from helpers.simulate import Costs, simulate
from helpers.timeline import timeline
from helpers.timeline.packed import module

pytestmark = [pytest.mark.slow, pytest.mark.ranks, pytest.mark.timeout(600)]
WAIT = "Rank 1 waits for rank 0, which has yet to compute what F0 needs (1 s)."
TRACE = simulate(one_f_one_b(2, 3), Costs(activation_bytes=1e6)).trace
SAME = "document.querySelector('canvas').toDataURL() === before"
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
WIDTH = "document.documentElement.scrollWidth"
CELLS = [
    "from helpers.play import play\nfrom helpers.timeline import explore",
    "shown = explore(ranks=2, micro_batches=2)\nshown",
    "game = play('one')\ngame",
]


@pytest.fixture
def shown(opened, tmp_path):
    """Open the text of a page as a file: shown(html, width, theme)."""

    def show(text, *how):
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        page = opened(path.as_uri(), *how)
        page.locator("canvas, .play-lane").first.wait_for()
        page.wait_for_timeout(100)
        return page

    return show


def point(page, rank, time, end=TRACE.duration):
    """Point at a moment of a rank that has a lane and a strip of memory."""
    width = page.locator("canvas").bounding_box()["width"] - 62 - 88
    x, y = 62 + width * time / end, 4 + 69 * rank + 13
    page.locator("canvas").hover(position={"x": x, "y": y})
    return page.locator(".lab-tip")


def test_a_timeline_is_pointed_at_walked_through_by_keys_zoomed_and_dragged(shown, axe, tmp_path):
    page = shown(timeline(TRACE).save(tmp_path / "step.html").read_text(encoding="utf-8"))
    assert point(page, 1, 0.5).inner_text() == WAIT
    assert point(page, 0, 0.5).inner_text().startswith("F0 on rank 0, forward, stage 0")
    assert point(page, 1, 1.5).inner_text().startswith("F0 on rank 1")
    page.mouse.move(5, 5)
    assert page.locator(".lab-tip").is_hidden()
    said, canvas = page.locator("[role=status]"), page.locator("canvas")
    canvas.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    assert "F0 on rank 1" in said.inner_text()
    page.keyboard.press("ArrowLeft")
    assert said.inner_text() == WAIT
    page.keyboard.press("Escape")
    assert said.inner_text() == ""
    page.evaluate(DRAWN)  # without the mark of the key
    page.evaluate("before = document.querySelector('canvas').toDataURL()")

    def drag():
        page.keyboard.press("+")
        page.mouse.down()
        page.mouse.move(300, 50, steps=4)
        page.mouse.up()

    for zoom in (lambda: page.keyboard.press("+"), lambda: page.mouse.wheel(0, -400), drag):
        point(page, 0, 4)
        zoom()
        page.mouse.move(5, 5)
        page.locator(".lab-tip").wait_for(state="hidden")
        page.evaluate(DRAWN)
        page.wait_for_function(f"!({SAME})")  # a wheel's event comes when it likes
        canvas.dblclick(position={"x": 5, "y": 5})
        page.wait_for_function(SAME)
    assert axe(page) == []
    narrow = shown(timeline({"a": TRACE, "b": TRACE}).html(), 390, "dark")
    assert axe(narrow) == [] and narrow.evaluate(WIDTH) <= 390


# --- the game ------------------------------------------------------------------------------------


PLAYED = """(level, count, seed) => {  // a hand of legal moves, at random
    let board = new Board(level);
    for (; count && board.ready.length; count--) {
        seed = (seed * 1103515245 + 12345) % 2 ** 31;
        board = board.with(board.ready[(seed >> 8) % board.ready.length][1]);
    }
    return board;
}"""
FOLLOWED = """board => {
    for (let turn = 0; turn < 200; turn++) {
        const { words, move, slip } = coached(board), kept = (name) => name !== slip;
        if (board.complete && !slip) return board.seconds;
        if (!words.includes(board.short(move ?? slip))) throw new Error(words);
        board = move ? board.with(move)
            : Board.of(board.level, board.orders.map((order) => order.filter(kept)));
    }
    return Infinity;
}"""


@pytest.fixture(scope="module")
def rules(browser):
    """What a function returns of a board: rules("board => …", level, moves, seed)."""
    page = browser.new_page()
    shown = "Object.assign(window, {Board, coached});"
    page.add_script_tag(type="module", content=module(HERE / "play.js") + shown)
    page.wait_for_function("() => Boolean(window.Board)")

    def asked(function, level, moves, seed=1):
        call = f"([level, moves, seed]) => ({function})(({PLAYED})(level, moves, seed))"
        return page.evaluate(call, [level.as_data(), moves, seed])

    yield asked
    page.close()


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.id)
def test_times_and_memory_are_the_simulator_s_and_who_follows_the_coach_wins(rules, level):
    for seed in range(3):
        board = "b => [b.orders, b.seconds, [...b.placed].map(([name, one]) => [name, one.start])]"
        orders, seconds, starts = rules(board, level, 5 + 20 * seed, seed)
        plan = [list(map(read_action, order)) for order in orders]
        made = Schedule("by hand", plan, level.places, level.micro_batches)
        done = simulate(made, level.costs(), proven=True)
        assert done.step_time == pytest.approx(seconds)
        assert max(done.peak_memory) <= (level.cap or 99)
        rows = zip(plan, done.times.starts, strict=True)
        expected = {str(a): start for row in rows for a, start in zip(*row, strict=True)}
        assert dict(starts) == pytest.approx(expected)
    for moves in (0, 8):
        assert rules(FOLLOWED, level, moves) <= level.par + 1e-9


def test_a_level_is_won_by_keyboard_and_stays_won(shown):
    page = shown(html("gpipe"))
    said = page.locator("[role=status]")
    for key in ("Tab", "Tab", "ArrowDown", "f"):  # to the levels, to the board
        page.keyboard.press(key)
    assert said.inner_text() == "F0 of rank 1 needs F0 of rank 0, which isn't in the plan yet."
    page.keyboard.press("ArrowUp")
    for rank in range(4):
        for key in "ffff":
            page.keyboard.press(key)
        assert page.locator(".play-lane button").count() == 4 * rank + 4
        page.keyboard.press("ArrowDown")
    for key in 4 * (4 * ["Enter"] + ["ArrowUp"]):  # on rank 3 first
        page.keyboard.press(key)
    assert said.inner_text().startswith("Done: 14 s. That's par")
    assert "✓ 14 s" in page.locator("select").inner_text()
    page.keyboard.press("u")
    assert page.locator(".play-lane button").count() == 31
    page.keyboard.press("b")
    page.get_by_text("Next level").press("Enter")
    assert page.locator(".play-goal").inner_text().startswith("Six micro-batches in 16 s")


def test_a_full_rank_a_box_that_is_taken_back_and_the_help_of_the_coach(shown, axe):
    page = shown(html("cap"), 390, "dark")
    said, boxes = page.locator("[role=status]"), page.locator(".play-lane button")
    for _ in range(3):
        page.locator(".play-move").first.click()
    page.locator('.play-move[data-name="0F3"]').click()
    assert said.inner_text() == (
        "F3 finds no room, because rank 0 keeps 3 already and has room for 3: a B must free some "
        "first."
    )
    assert axe(page) == [] and page.evaluate(WIDTH) <= 390
    page.locator('.play-move[data-name="1F0"]').click()
    assert "Rank 1 waits from 0 s until F0 of rank 0 is done." in said.inner_text()
    page.locator('.play-lane [data-name="0F0"]').click()
    assert boxes.count() == 2 and "F0 of rank 0 is taken back" in said.inner_text()
    page.get_by_text("Undo", exact=True).click()
    assert boxes.count() == 4
    page.get_by_text("Coach", exact=True).click()
    assert said.inner_text() == "Rank 1 has one thing to do: F1."
    assert page.locator(".play-best").get_attribute("data-name") == "1F1"


# --- in a notebook -------------------------------------------------------------------------------


def test_in_jupyterlab_a_slider_simulates_a_plan_reaches_python_and_keys_stay(lab):
    page = lab.open(lab.write("widgets.ipynb", CELLS))
    lab.run_all(page)
    slider = page.locator("[data-name=micro_batches]")
    page.locator(".play-move").first.wait_for()
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.locator(".lab-title", has_text="3 micro-batches").wait_for()
    for control in ("[data-name=micro_batches]", ".lab-timeline canvas", ".play-move"):
        page.locator(control).first.focus()
        for key in ("d", "d", "Escape", "m"):  # shortcuts of the notebook
            page.keyboard.press(key)
    assert page.locator(".jp-Notebook .jp-Cell").count() == len(CELLS)
    for _ in range(8):  # what can be done is only ever one thing
        page.locator(".play-move:not(.play-not)").click()
    page.locator(".play-said", has_text="Done: 8 s. That's par").wait_for()
    page.evaluate("jupyterapp.commands.execute('notebook:insert-cell-below')")
    page.locator(".jp-Cell.jp-mod-active .cm-content").fill("print(game.schedule, shown.title)")
    page.evaluate("jupyterapp.commands.execute('notebook:run-cell')")
    page.locator(".jp-OutputArea", has_text="rank 0: F0 B0").last.wait_for()
