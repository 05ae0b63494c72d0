"""In JupyterLab a lesson is read before it has run, runs by the menu, and follows the theme."""

import io

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_output
from PIL import Image

from helpers.draw import curves

NAME = "02_ranks_and_collectives"
pytestmark = [pytest.mark.slow, pytest.mark.ranks, pytest.mark.timeout(1800)]
SHOWN = """[...document.querySelectorAll(".jp-OutputArea-output img")].every(
    (picture) => picture.complete && picture.naturalWidth && picture.checkVisibility())"""
PICTURES = [
    "from helpers.draw import curves, ring\n"
    "from helpers.lesson import predict, reveal, show, vary\n"
    'show(curves({"a": [3, 2], "b": [2, 1]}))',
    'curves({"a": [3, 2]})',
    "vary(lambda step: ring(3, step), step=range(5))",
    'predict("ranks_and_collectives-1", "Which?", "this", "that", "both")',
    'reveal("ranks_and_collectives-1")',
]
THEME = "jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab %s'})"


def test_a_lesson_is_read_before_anything_has_run_and_runs_through_the_menu(lab):
    committed = nbformat.read(lab.root / f"notebooks/{NAME}.ipynb", as_version=4)
    outputs = [output for cell in committed.cells for output in cell.get("outputs", [])]
    page = lab.open(f"notebooks/{NAME}.ipynb")
    page.wait_for_function(SHOWN)
    pictures = page.locator(".jp-OutputArea-output img").count()
    assert pictures == sum("image/png" in output.get("data", {}) for output in outputs) > 0
    folded = page.locator(".jp-CodeCell .jp-InputPlaceholder")
    assert folded.count() == sum("jupyter" in cell.metadata for cell in committed.cells) > 5
    shown = page.locator(".jp-CodeCell .jp-CodeMirrorEditor").all_inner_texts()
    assert not any("predict(" in text for text in shown)
    before = folded.count()
    folded.first.click()
    assert folded.count() == before - 1
    lab.run_all(page)
    page.wait_for_function(SHOWN)


def test_pictures_follow_the_theme_and_a_prediction_is_clicked(lab):
    drawn = curves({"a": [3, 2]})
    kept = [new_output("display_data", {"text/html": drawn._repr_html_()})]
    cells = [new_code_cell(PICTURES[0], outputs=kept), *PICTURES[1:]]
    page = lab.open(lab.write("pictures.ipynb", cells))
    # JupyterLab takes <svg> and <style> out of a notebook it doesn't trust, and keeps an image.
    page.locator(f".jp-OutputArea-output img[alt='{drawn.alt}']").wait_for()
    lab.run_all(page)
    pictures = page.locator(".jp-OutputArea-output img[alt]")
    pictures.nth(2).wait_for()

    def corners(theme):
        page.evaluate(THEME % theme)
        page.wait_for_timeout(1000)
        shots = [Image.open(io.BytesIO(pictures.nth(n).screenshot())) for n in range(3)]
        return [shot.convert("RGB").getpixel((3, 3)) for shot in shots]

    assert max(map(max, corners("Dark"))) < 60
    assert min(map(min, corners("Light"))) > 240
    assert all(pictures.nth(n).get_attribute("alt") for n in range(3))
    assert page.locator(".lab-hint:visible").count() == 1

    buttons = page.locator(".lab-choices button")
    assert buttons.count() == 3 and page.locator("details summary").count() == 1
    buttons.nth(1).click()
    page.get_by_text("You say B. Now run the next cells.").wait_for()
    buttons.nth(1).press("Tab")  # the keyboard stays with the buttons
    page.keyboard.press("Enter")
    page.get_by_text("You say C. Now run the next cells.").wait_for()
    assert buttons.nth(2).get_attribute("aria-pressed") == "true"
    lab.run_all(page)
    page.get_by_text("You said C").or_(page.get_by_text("and C it is")).first.wait_for()
