"""The lessons in JupyterLab: read before anything has run, then run through the menu."""

import nbformat
import pytest

PICTURES = """pictures => pictures.map(picture => ({
    alt: picture.alt, width: picture.naturalWidth, shown: picture.checkVisibility()
}))"""
ALL_SHOWN = """[...document.querySelectorAll(".jp-OutputArea-output img")].every(
    picture => picture.complete && picture.naturalWidth
)"""
lessons = pytest.mark.parametrize(
    "name", ["02_ranks_and_collectives", "03_data_parallel_gradients"]
)
# What must be seen after a run, besides that nothing failed.
SEEN = {
    "02_ranks_and_collectives": 'img[alt^="Who waits for whom."]',
    "03_data_parallel_gradients": 'img[alt^="Curves of loss"]',
}
pytestmark = pytest.mark.timeout(900)


@lessons
def test_a_reader_sees_every_picture_before_anything_has_run(lab, name):
    committed = nbformat.read(lab.root / f"notebooks/{name}.ipynb", as_version=4)
    outputs = [output for cell in committed.cells for output in cell.get("outputs", [])]
    html = "".join(output.get("data", {}).get("text/html", "") for output in outputs)
    page = lab.open(f"notebooks/{name}.ipynb")
    page.wait_for_function(ALL_SHOWN)
    pictures = page.locator(".jp-OutputArea-output img").evaluate_all(PICTURES)
    lab.screenshot(page, f"{name}_as_committed")
    assert len(pictures) == html.count("<img ") > 0
    assert all(picture["alt"] and picture["width"] and picture["shown"] for picture in pictures)


@lessons
def test_a_lesson_runs_through_the_menu(lab, name):
    page = lab.open(f"notebooks/{name}.ipynb")
    lab.run_all(page)
    lab.screenshot(page, name)
    assert lab.errors(page) == []
    assert page.locator(SEEN[name]).count() >= 1
    assert lab.outside == []
