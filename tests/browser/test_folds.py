"""What is folded in JupyterLab: cells that only prepare or show, and one way to write a task."""

import nbformat
import pytest

NAME = "06_micro_batches"
pytestmark = [pytest.mark.slow, pytest.mark.ranks, pytest.mark.timeout(900)]


def test_the_idea_is_in_sight_and_a_click_shows_the_rest(lab):
    committed = nbformat.read(lab.root / f"notebooks/{NAME}.ipynb", as_version=4)
    folded = [cell for cell in committed.cells if "jupyter" in cell.metadata]
    page = lab.open(f"notebooks/{NAME}.ipynb")
    lab.screenshot(page, f"{NAME}_folded")
    places = page.locator(".jp-CodeCell .jp-InputPlaceholder")
    assert places.count() == len(folded) > 10
    shown = page.locator(".jp-CodeCell .jp-CodeMirrorEditor").all_inner_texts()
    assert not any("predict(" in text for text in shown)
    places.first.click()
    assert places.count() == len(folded) - 1


@pytest.mark.long
def test_a_passed_check_unfolds_one_way_to_write_it(lab):
    cells = ["from helpers.check import check\nfrom helpers.lesson import show_code"]
    cells += ['check("DP-6")', 'show_code("DP/zero/zero1.py", "Zero1.step")']
    cells += ['show_code("CP/ring/ring_attention.py", "Ring.pass_on")']
    page = lab.open(lab.write("folds.ipynb", cells))
    lab.run_all(page)
    folds = page.locator("details.lab-fold")
    assert folds.count() == 2 and not page.get_by_text("unit.gather()").first.is_visible()
    for fold in folds.all():
        fold.locator("summary").click()
    lab.screenshot(page, "folds")
    assert page.get_by_text("unit.gather()").count() == 2
    assert page.get_by_text("unit.gather()").first.is_visible()
    keyword = page.locator("details.lab-fold span", has_text="for").first
    color = (
        "element => [getComputedStyle(element), getComputedStyle(document.body)].map(s => s.color)"
    )
    mine, around = keyword.evaluate(color)
    assert mine != around
