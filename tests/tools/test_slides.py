"""Slides are made of what lessons say: question, prediction, result, picture, what to remember."""

import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import slides  # noqa: E402

PNG = "iVBORw0KGgo="


def lesson() -> nbformat.NotebookNode:
    def shown(text, **more):
        return new_output("display_data", {"text/plain": text, **more})

    asked = shown("Predict: Why?\n  A) a<b\n  B) no")
    answer = shown("The answer: It's A: so.")
    image = shown("Timeline", **{"image/png": PNG})
    image.metadata = {"image/png": {"alt": "two <ranks>"}}
    cells = [
        new_markdown_cell("# Two ranks\n\n*Reading 1*\n\n**Question.** Who waits?\n\nMore."),
        new_markdown_cell("## Before\n\n$$T = (m + p)$$\n\n## After\n\n$$x < 3$$"),
        new_code_cell("def swap():\n    pass"),
        new_code_cell('predict(\n    "L99-1", "…")', outputs=[asked]),
        new_code_cell('show(x)\nreveal("L99-1")', outputs=[image, answer]),
        new_code_cell("show(x)", outputs=[image]),
        new_markdown_cell("x\n\n## What to remember\n\n- It is $p - 1$.\n\n## In the wild\n\n- no"),
    ]  # fmt: skip
    return new_notebook(cells=cells)


def test_each_kind_of_slide():
    found = slides.slides_of(lesson())
    assert len(found) == 7 and "Two ranks" in found[0] and "Who waits?" in found[0]
    assert "Before" in found[1] and "After" in found[2] and "<math" in found[1]
    assert "Why?" in found[3] and "def swap" in found[3] and found[3].count("<li>") == 2
    assert "It's A" in found[4].replace("&#x27;", "'") and 'alt="two &lt;ranks&gt;"' in found[4]
    assert "After" in found[5] and PNG in found[5]
    assert "<math" in found[6] and "In the wild" not in found[6]
    text = slides.page("99", found)
    assert text.count("<section>") == 7 and "http" not in text.replace("http://www.w3.org", "")


def test_the_lessons_of_the_pattern_have_slides():
    for number in slides.PATTERN:
        (path,) = (ROOT / "notebooks").glob(f"{number}_*.ipynb")
        found = slides.slides_of(nbformat.read(path, as_version=4))
        assert len(found) >= 10 and "What to remember" in found[-1]
