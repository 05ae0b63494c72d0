"""The schedule game in a real page: by mouse, touch and keyboard, and a plan on real ranks."""

import pytest

from helpers.play import answer
from tests.browser.playing import choose, helped, number, place, plan, said

pytestmark = [pytest.mark.slow, pytest.mark.ranks, pytest.mark.timeout(600)]


def test_a_level_is_won_by_mouse_and_kept(game):
    page = game("#level=one")
    for name in ("0F0", "1F0", "2F0"):
        place(page, name)
    page.locator(".play-ghost[data-name='3F0']").click()
    for name in ("3B0", "2B0", "1B0", "0B0"):
        place(page, name)
    said(page, "Done: 8 s, and nobody knows a faster plan.")
    assert number(page, "your best") == "8 s" and number(page, "messages") == "6"
    page.get_by_label("next level").click()
    page.locator(".play-goal", has_text="micro-batches").wait_for()
    assert page.locator("[data-level=one][data-done=won]").count() == 1
    page.reload()
    page.wait_for_selector(".play-lane")
    assert page.locator("[data-level=one][data-done=won]").count() == 1
    assert page.errors == []


def test_a_level_is_won_by_keyboard(game):
    page = game("#level=gpipe")
    page.locator(".play-board").focus()
    for rank in range(4):
        for _ in range(4):
            page.keyboard.press("f")
        page.keyboard.press("ArrowDown")
        page.wait_for_function(f"document.querySelectorAll('.play-box').length === {4 * rank + 4}")
    page.keyboard.press("ArrowUp")  # from rank 0 to rank 3
    for rank in reversed(range(4)):
        for _ in range(4):
            page.keyboard.press("b")
        count = 16 + 4 * (4 - rank)
        page.wait_for_function(f"document.querySelectorAll('.play-box').length === {count}")
        page.keyboard.press("ArrowUp")
    said(page, "Done: 14 s")
    assert number(page, "your best") == "14 s" and page.errors == []
    page.keyboard.press("z")
    page.wait_for_function("document.querySelectorAll('.play-box').length === 31")
    page.keyboard.press("y")
    page.wait_for_function("document.querySelectorAll('.play-box').length === 32")


@pytest.mark.parametrize(
    "fragment, keys, words",
    [
        ("#level=cap&plan=F0__", ["b"], "B0 of rank 0 needs B0 of rank 1, which isn't in the"),
        ("#level=cap&plan=__", ["ArrowDown", "f"], "F0 of rank 1 needs F0 of rank 0"),
        ("#level=cap&plan=F0-F1-F2__", ["f"], "rank 0 keeps 3 already and has room for 3"),
        ("#level=cap&plan=F0__", ["i"], "there's no I in this level"),
        ("#level=two&plan=F0-F1-F2_F0", ["f"], "F3 of rank 0 finds no room"),
        ("#level=cap&plan=F0-F1_F0_F0", ["Home", "Delete"], "F0 of rank 1 needs F0 of rank 0"),
    ],
)
def test_an_illegal_move_is_refused_with_its_reason(game, fragment, keys, words):
    page = game(fragment)
    before = plan(page)
    page.locator(".play-board").focus()
    for key in keys:
        page.keyboard.press(key)
    said(page, words)
    assert page.locator(".play-said.play-refused").count() == 1 and plan(page) == before
    for needed in page.locator(".play-needed").all():
        assert needed.get_attribute("data-name") in ("1B0", "0F0")


def test_boxes_are_dragged_along_the_lane_and_out_of_it(game):
    page = game("#level=cap&plan=F0-F1-F2__")
    box = page.locator('.play-box[data-name="0F2"]').bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def drag(to_x, to_y):
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(to_x, to_y, steps=5)
        page.mouse.up()

    drag(x - 2.2 * box["width"], y)
    page.wait_for_function("document.querySelector('.play-box').dataset.name === '0F2'")
    assert plan(page)[0] == ["0F2", "0F0", "0F1"]
    drag(x, y + 300)
    page.wait_for_function("document.querySelectorAll('.play-box').length === 2")
    assert plan(page)[0] == ["0F2", "0F0"]
    page.reload()
    page.wait_for_selector(".play-box")
    assert plan(page)[0] == ["0F2", "0F0"]  # and not the three of the link


def test_a_finger_places_and_takes_back(game):
    page = game("#level=cap", size="phone", touch=True)
    for name in ("0F0", "0F1"):
        page.locator(f'.play-chip[data-name="{name}"]').tap()
        page.wait_for_selector(f'.play-box[data-name="{name}"]')
    page.locator('.play-box[data-name="0F0"]').tap()
    page.get_by_label("take back").tap()
    page.wait_for_function("document.querySelectorAll('.play-box').length === 1")
    assert plan(page)[0] == ["0F1"]
    for one in page.locator(".play-chip, .play-tools button").all():
        if one.is_visible():
            box = one.bounding_box()
            assert min(box["width"], box["height"]) >= 33  # for a finger


def test_the_ladder_of_help(game):
    page = game("#level=cap")
    helped(page, "legal")
    assert page.locator(".play-ghost, .play-not-ready").count() == 0
    choose(page, "play on")
    said(page, "real choice")
    choose(page, "finish it for me")
    said(page, "Done: 16 s")
    assert number(page, "your best") == "16 s, helped"


def test_a_plan_made_by_hand_runs_on_real_ranks(game):
    page = game("#level=own&ranks=2&micro_batches=2")
    for name in ("0F0", "0F1", "1F0", "1B0", "1F1", "1B1", "0B0", "0B1"):
        place(page, name)
    page.get_by_label("run it on real ranks").click()
    page.wait_for_selector(".play-measured", timeout=120_000)
    assert page.locator(".play-measured").count() == 8
    page.locator(".play-said", has_text="RIGHT: ").wait_for(timeout=180_000)
    assert "Planned 1.50 s, measured" in page.locator(".play-said").inner_text()


@pytest.mark.parametrize(("size", "theme"), [("phone", "dark"), ("projector", "light")])
def test_it_fits_every_screen(game, size, theme):
    done = answer({"do": "finish", "level": "h1"})
    text = answer({"do": "save", "as": "link", "level": "h1", "plan": done["plan"]})["text"]
    page = game("#" + text, size, theme)
    assert page.locator(".play").get_attribute("data-theme") == theme
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0  # the lanes scroll, the page doesn't


def test_no_plan_is_lost_by_another_level_empty_a_link_or_a_reload(game):
    page = game("#level=cap")
    boxes = "document.querySelectorAll('.play-box').length === {}"
    place(page, "0F0")
    place(page, "0F1")
    page.locator("[data-level=gpipe]").click()
    page.wait_for_function("document.querySelectorAll('.play-lane').length === 4")
    place(page, "0F0")
    page.locator("[data-level=cap]").click()
    page.wait_for_function(boxes.format(2))
    choose(page, "empty lanes")
    page.wait_for_function(boxes.format(0))
    page.reload()
    page.wait_for_selector(".play-lane")
    page.get_by_label("undo").click()
    page.wait_for_function(boxes.format(2))
    place(page, "1F0")
    page.evaluate("location.hash = '#level=one&plan=F0___'")
    page.wait_for_function(boxes.format(1))
    page.go_back()
    page.wait_for_function(boxes.format(3))  # what stood there, and not the link's empty lanes
    for _ in range(2):
        page.get_by_label("undo").click()  # over the link, to the same
    page.wait_for_function(boxes.format(3))
    assert plan(page) == [["0F0", "0F1"], ["1F0"], []] and page.errors == []


def test_a_cost_of_ones_own_is_a_number_or_refused(game):
    page = game("#level=own")
    field = page.locator("[name=latency]")
    for text, words in [
        ("2,5", "Message (s): Write a decimal point"),
        ("1e999", "Message (s): Write a number"),
        ("", "Message (s): Write a number"),
        ("-1", "Message (s): choose from 0 to 100, not latency=-1"),
    ]:
        field.fill(text)
        field.press("Tab")
        said(page, words)
    field.fill("2.5")
    field.press("Tab")
    page.wait_for_function("document.querySelector('[name=latency]').value === '2.5'")
    page.wait_for_function("!document.querySelector('.play-refused')")
    page.locator("[name=shape]").select_option("1")
    page.locator("[name=cap]").fill("1")
    page.locator("[name=cap]").press("Tab")
    said(page, "Room (0: no limit): a rank of 2 stages needs room for 2, not cap=1")
    assert page.errors == []


def test_what_the_coach_warns_of_looks_other_than_what_it_advises(game):
    page = game("#level=cap&plan=F0-F1-F2_F0-F1-F2_F0")
    helped(page, "coach")
    said(page, "real choice")
    advised, warned = page.locator(".play-about"), page.locator(".play-worse")
    assert advised.count() > 0 and warned.count() > 0
    assert not set(advised.all_inner_texts()) & set(warned.all_inner_texts())


def test_what_the_coach_was_asked_for_counts_as_helped_even_after_undo_and_reload(game):
    page = game("#level=one")
    for name in ("0F0", "1F0", "2F0", "3F0", "3B0", "2B0"):
        place(page, name)
    page.locator(".play-board").focus()
    page.keyboard.press("c")
    page.locator(".play-about").first.wait_for()
    page.reload()
    page.wait_for_selector(".play-lane")
    for name in ("1B0", "0B0"):
        place(page, name)
    said(page, "Done: 8 s")
    assert number(page, "your best") == "8 s, helped"
    choose(page, "empty lanes")
    page.wait_for_function("document.querySelectorAll('.play-box').length === 0")
    for name in ("0F0", "1F0", "2F0", "3F0", "3B0", "2B0", "1B0", "0B0"):
        place(page, name)
    said(page, "Done: 8 s")
    assert number(page, "your best") == "8 s"


def test_a_plan_made_with_the_coach_beside_it_counts_as_helped(game):
    page = game("#level=one")
    helped(page, "coach")
    for name in ("0F0", "1F0", "2F0", "3F0", "3B0", "2B0", "1B0", "0B0"):
        place(page, name)
    said(page, "Done: 8 s")
    assert number(page, "your best") == "8 s, helped"


def test_a_copied_link_holds_no_secret(game):
    page = game("#level=cap&plan=F0__")
    choose(page, "copy a link")
    page.locator(".play-shared").wait_for()
    shared = page.locator(".play-shared").inner_text()
    assert shared == 'python -m helpers.play "#level=cap&plan=F0__"'
