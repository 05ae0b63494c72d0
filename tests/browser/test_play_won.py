"""What the game says of a win, what lost the goal, and what another visit finds."""

import pytest

from tests.browser.playing import choose, place, plan, said

pytestmark = [pytest.mark.slow, pytest.mark.ranks, pytest.mark.timeout(600)]


def test_a_win_names_the_plan_and_leads_to_its_lesson(game):
    page = game("#level=gpipe&plan=F0-F1-F2-F3-B0-B1-B2_F0-F1-F2-F3-B0-B1-B2-B3"
                "_F0-F1-F2-F3-B0-B1-B2-B3_F0-F1-F2-F3-B0-B1-B2-B3")  # fmt: skip
    place(page, "0B3")
    found = page.locator(".play-found")
    assert found.inner_text() == "That was GPipe. Lesson 06: Micro-batches: GPipe and 1F1B"
    page.get_by_label("run it on real ranks").wait_for()
    page.locator(".play-map [aria-current]").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.locator("h2", has_text="Not enough room").wait_for()
    assert found.inner_text() == "" and not page.get_by_label("next level").is_visible()


def test_what_lost_the_goal_is_taken_back_by_one_press(game):
    naive = "_".join(["F0-B0-F1-F2-F3-B1-B2-B3"] * 4)
    page = game(f"#level=gpipe&plan={naive}")
    page.get_by_label("coach", exact=True).click()
    said(page, "Since B0 of rank 2 at 5 s, the coach knows no way to 14 s")
    page.get_by_label("go back to there").click()
    said(page, "Everything from B0 of rank 2 on is taken back")
    assert 0 < sum(map(len, plan(page))) < 16
    page.get_by_label("undo").click()
    page.wait_for_function("document.querySelectorAll('.play-box').length === 32")


def test_another_visit_finds_the_plan_of_each_level(game):
    page = game("#level=cap")
    place(page, "0F0")
    choose(page, "empty lanes")
    page.wait_for_function("document.querySelectorAll('.play-box').length === 0")
    page.locator("[data-level=gpipe]").click()
    place(page, "0F0")
    again = page.context.new_page()  # has no history of its own
    again.goto(page.url.split("#")[0] + "#level=cap")
    again.wait_for_selector('.play-box[data-name="0F0"]')
    again.locator("[data-level=gpipe]").click()
    again.wait_for_function("document.querySelectorAll('.play-lane').length === 4")
    assert plan(again)[0] == ["0F0"]
