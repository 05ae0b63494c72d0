"""Pictures in JupyterLab: in the colors of its theme, with their words, and never nothing."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from helpers.draw import curves
from helpers.draw.style import DARK, LIGHT

pytestmark = [pytest.mark.slow, pytest.mark.ranks, pytest.mark.timeout(600)]
CELLS = (
    "from helpers.draw import curves, process_grid, ring\n"
    "from helpers.lesson import show\n"
    'show(curves({"a": [3, 2], "b": [2, 1]}))',
    'curves({"a": [3, 2]})',
    "show(ring(3, 1))",
    "show(process_grid(1, 2, 0))",
)
BACKGROUNDS = """all => all.map(svg => getComputedStyle(svg.querySelector(':scope > rect')).fill)"""
DARK_THEME = "jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})"
LIGHT_THEME = DARK_THEME.replace("Dark", "Light")


def rgb(color: str) -> str:
    return f"rgb({', '.join(str(int(color[i : i + 2], 16)) for i in (1, 3, 5))})"


def test_pictures_follow_the_theme_and_say_what_can_be_done_with_them(lab):
    page = lab.open(lab.write("pictures.ipynb", list(CELLS)))
    lab.run_all(page)
    assert lab.errors(page) == []
    pictures = page.locator(".lab-picture svg[role=img][aria-label]")
    pictures.nth(len(CELLS) - 1).wait_for()
    assert pictures.evaluate_all(BACKGROUNDS) == [rgb(LIGHT.background)] * len(CELLS)
    try:
        page.evaluate(DARK_THEME)
        page.locator("body[data-jp-theme-light=false]").wait_for(state="attached")
        assert pictures.evaluate_all(BACKGROUNDS) == [rgb(DARK.background)] * len(CELLS)
        lab.screenshot(page, "pictures_dark")
    finally:
        page.evaluate(LIGHT_THEME)
    page.locator("body[data-jp-theme-light=true]").wait_for(state="attached")
    pictures.last.wait_for()  # JupyterLab hides itself for a frame while it changes its theme
    assert pictures.evaluate_all(BACKGROUNDS) == [rgb(LIGHT.background)] * len(CELLS)
    assert page.locator(".lab-picture > img:visible").count() == 0


@pytest.mark.long
def test_a_picture_from_elsewhere_is_an_image_with_its_words(lab):
    """Such an output isn't trusted: JupyterLab takes <svg> and <style> out of it."""
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
