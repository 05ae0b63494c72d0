"""The sliders over a layout in a real page: they move, the bars and the sentence follow."""

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.ranks, pytest.mark.timeout(600)]
CELL = (
    "from helpers.cluster import design\n"
    'sliders = design(model="GPT-3, 175B", dp=4, pp=8, tp=8, micro_batches=32)\nsliders'
)
PICTURE = ".lab-keeps-keys img"
BARS = f'{PICTURE}[alt^="Bars."]'  # of memory first, then of time


def test_sliders_drive_the_bars(lab):
    page = lab.open(lab.write("design.ipynb", [CELL]))
    lab.run_all(page)
    page.locator(BARS).first.wait_for()
    first = said(page)
    assert "256 x A100, batch 128" in first and "it does not fit" in first

    choose(page, "recompute", "full")
    page.locator(f'{PICTURE}[alt*="it fits"]').wait_for()
    assert said(page) != first

    slide(page, "tp", "ArrowLeft")
    page.locator(f'{PICTURE}[alt*="128 x A100"]').wait_for()
    choose(page, "machine", "H100")
    page.locator(f'{PICTURE}[alt*="128 x H100"]').wait_for()

    before = said(page)
    slide(page, "chunks", "ArrowRight")
    slide(page, "pp", "ArrowLeft", times=3)  # one stage, and two chunks: this cannot be
    page.get_by_text("2 chunks need a pipeline").wait_for()
    assert "H100" in said(page) and said(page) != before  # the last one that could be
    lab.screenshot(page, "design")
    slide(page, "chunks", "ArrowLeft")
    page.locator(f'{PICTURE}[alt*="16 x H100"]').wait_for()
    assert page.get_by_text("need a pipeline").count() == 0
    assert lab.errors(page) == [] and lab.outside == []


def said(page) -> str:
    return page.locator(BARS).first.get_attribute("alt")


def control(page, name: str):
    """The box of a control, found by its label."""
    label = page.locator(".widget-label").get_by_text(name, exact=True)
    return label.locator("..")


def choose(page, name: str, value: str) -> None:
    control(page, name).locator("select").select_option(value)


def slide(page, name: str, key: str, times: int = 1) -> None:
    handle = control(page, name).locator(".noUi-handle")
    for _ in range(times):
        handle.press(key)
