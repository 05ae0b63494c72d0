"""A lesson in JupyterLab: read before anything has run, then run through the menu."""

import nbformat
import pytest

NAME = "02_ranks_and_collectives"
PICTURES = """pictures => pictures.map(picture => ({
    width: picture.naturalWidth, shown: picture.checkVisibility()
}))"""
ALL_SHOWN = """[...document.querySelectorAll(".jp-OutputArea-output img")].every(
    picture => picture.complete && picture.naturalWidth
)"""
pytestmark = [pytest.mark.slow, pytest.mark.ranks, pytest.mark.timeout(1800)]


def test_a_reader_sees_every_picture_before_anything_has_run(lab):
    committed = nbformat.read(lab.root / f"notebooks/{NAME}.ipynb", as_version=4)
    outputs = [output for cell in committed.cells for output in cell.get("outputs", [])]
    count = sum("image/png" in output.get("data", {}) for output in outputs)
    page = lab.open(f"notebooks/{NAME}.ipynb")
    page.wait_for_function(ALL_SHOWN)
    pictures = page.locator(".jp-OutputArea-output img").evaluate_all(PICTURES)
    lab.screenshot(page, f"{NAME}_as_committed")
    assert len(pictures) == count > 0
    assert all(picture["width"] and picture["shown"] for picture in pictures)


def test_a_lesson_runs_through_the_menu(lab):
    page = lab.open(f"notebooks/{NAME}.ipynb")
    lab.run_all(page)
    lab.screenshot(page, NAME)
    assert lab.errors(page) == []
    assert page.locator("img[alt]").count() >= 1
    assert page.locator(".lab-choices button").count() >= 2
    assert lab.outside == []


def test_an_error_and_a_request_to_the_outside_are_seen(lab):
    html = "from IPython.display import HTML\nHTML('<img src=\"http://192.0.2.1/x.png\">')"
    page = lab.open(lab.write("wrong.ipynb", [html, "1 / 0", "2"]))
    lab.run_all(page)
    assert "ZeroDivisionError" in lab.errors(page)[0]
    assert set(lab.outside) == {"http://192.0.2.1/x.png"}


def test_a_prediction_is_clicked_and_the_answer_knows_it(lab):
    cells = ["from helpers.lesson import predict, reveal"]
    cells += [
        'predict("ranks_and_collectives-1", "Which?", "this", "that", "both")',
        'reveal("ranks_and_collectives-1")',
    ]
    page = lab.open(lab.write("predict.ipynb", cells))
    lab.run_all(page)
    buttons = page.locator(".lab-choices button")
    assert buttons.count() == 3 and page.locator("details summary").count() == 1
    buttons.nth(1).click()
    page.get_by_text("You say B. Now run the next cells.").wait_for()
    buttons.nth(1).press("Tab")  # the keyboard stays with the buttons
    page.keyboard.press("Enter")
    page.get_by_text("You say C. Now run the next cells.").wait_for()
    assert buttons.nth(2).get_attribute("aria-pressed") == "true"
    lab.screenshot(page, "predict")
    lab.run_all(page)
    page.get_by_text("You said C").or_(page.get_by_text("and C it is")).first.wait_for()
    assert page.locator('.lab-choices button[aria-pressed="true"]').inner_text().startswith("C")
