"""The page of the game for tests: the fixture `game`, which conftest.py hands out, and hands."""

import threading

import pytest

from helpers.play.__main__ import server

SIZES = {"phone": (390, 844), "laptop": (1280, 800), "projector": (1920, 1080)}


@pytest.fixture(scope="module")
def game(browser):
    """Open the game's page: game(fragment, …) is a fresh page at that level."""
    made, address = server()
    threading.Thread(target=made.serve_forever, daemon=True).start()

    def opened(fragment, size="laptop", theme="light", touch=False):
        width, height = SIZES[size]
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, has_touch=touch
        )
        page = context.new_page()
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.goto(address + fragment)
        page.wait_for_selector(".play-lane")
        return page

    yield opened
    made.shutdown()
    made.server_close()


def plan(page):
    """The orders on the page, as the boxes in the lanes name them."""
    lanes = page.locator(".play-lane")
    return [
        [box.get_attribute("data-name") for box in lanes.nth(n).locator(".play-box").all()]
        for n in range(lanes.count())
    ]


def place(page, name):
    page.locator(f'.play-chip[data-name="{name}"]').click()
    page.wait_for_selector(f'.play-box[data-name="{name}"]')


def said(page, words):
    page.locator(".play-said", has_text=words).wait_for()


def choose(page, label):
    """Press what stands in the menu."""
    page.locator(".play-more summary").click()
    page.get_by_label(label).click()


def helped(page, by):
    page.locator(".play-more summary").click()
    page.get_by_label("help", exact=True).select_option(by)
    page.keyboard.press("Escape")
    page.locator(".play-more:not([open])").wait_for()


def number(page, key):
    return page.locator(f'[data-key="{key}"] dd').inner_text()
