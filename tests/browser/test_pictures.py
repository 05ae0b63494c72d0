"""Pictures in JupyterLab: in the colors of its theme, with their words, and never nothing."""

import io

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image

from helpers.draw import curves

pytestmark = [pytest.mark.slow, pytest.mark.ranks, pytest.mark.timeout(600)]
CELLS = (
    "from helpers.draw import curves, ring\n"
    "from helpers.lesson import show, vary\n"
    'show(curves({"a": [3, 2], "b": [2, 1]}))',
    'curves({"a": [3, 2]})',
    "vary(lambda step: ring(3, step), step=range(5))",
)
THEME = "jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab %s'})"


def card(image) -> tuple[int, int, int]:
    """The color at the corner of a picture, as it is on the screen."""
    shot = Image.open(io.BytesIO(image.screenshot())).convert("RGB")
    return shot.getpixel((3, 3))


def test_pictures_follow_the_theme_and_say_what_can_be_done_with_them(lab):
    page = lab.open(lab.write("pictures.ipynb", list(CELLS)))
    lab.run_all(page)
    assert lab.errors(page) == []
    pictures = page.locator(".jp-OutputArea-output img[alt]")
    pictures.nth(len(CELLS) - 1).wait_for()
    assert all(pictures.nth(n).get_attribute("alt") for n in range(len(CELLS)))
    assert min(card(pictures.first)) > 240
    try:
        page.evaluate(THEME % "Dark")
        page.locator("body[data-jp-theme-light=false]").wait_for(state="attached")
        page.wait_for_timeout(500)
        assert all(max(card(pictures.nth(n))) < 60 for n in range(len(CELLS)))
        lab.screenshot(page, "pictures_dark")
    finally:
        page.evaluate(THEME % "Light")
    page.locator("body[data-jp-theme-light=true]").wait_for(state="attached")
    page.wait_for_timeout(500)
    assert min(card(pictures.last)) > 240
    assert page.locator(".lab-hint:visible").count() == 1


@pytest.mark.long
def test_a_picture_from_elsewhere_is_an_image_with_its_words(lab):
    """Such an output isn't trusted: JupyterLab takes <svg> and <style> out, and keeps an image."""
    picture = curves({"a": [3, 2]})
    output = new_output("display_data", {"text/html": picture._repr_html_()})
    cell = new_code_cell("show(picture)", outputs=[output])
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    path = lab.root / "notebooks/elsewhere.ipynb"
    nbformat.write(new_notebook(cells=[cell], metadata=kernel), path)
    page = lab.open("notebooks/elsewhere.ipynb")
    image = page.locator(".jp-OutputArea-output img")
    image.wait_for()
    assert image.get_attribute("alt") == picture.alt
    assert page.locator(".jp-OutputArea-output svg").count() == 0
