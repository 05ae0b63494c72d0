"""Slides are made of what lessons say: question, prediction, result, picture, what to remember."""

from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import slides

ROOT = Path(__file__).resolve().parents[2]
PNG = "iVBORw0KGgo="


def lesson() -> nbformat.NotebookNode:
    def shown(text, **more):
        return new_output("display_data", {"text/plain": text, **more})

    asked = shown("Predict: Why?\n  A) a<b\n  B) no")
    answer = shown("The answer: It's A: so.")
    image = shown("Timeline. one waits for two. More.", **{"image/png": PNG})
    image.metadata = {"image/png": {"alt": "two <ranks>"}}
    cells = [
        new_markdown_cell("# Two ranks\n\n*Reading 1*\n\n**Question.** Who waits?\n\nMore."),
        new_markdown_cell("## Before\n\nA step of all stages is so many stages long:\n\n"
            "$$T = (m + p)$$\n\n### Your turn: A-1\n\nDo not show.\n\n## After\n\n$$x < 3$$"),
        new_code_cell("def swap():\n    pass"),
        new_code_cell("import secret", metadata={"jupyter": {"source_hidden": True}}),
        new_code_cell('predict(\n    "first-1", "…")', outputs=[asked]),
        new_code_cell('show(x)\nreveal("first-1")', outputs=[image, answer]),
        new_code_cell("show(x)", outputs=[image]),
        new_markdown_cell("x\n\n## What to remember\n\n- It is $p - 1$.\n\n## In the wild\n\n- no"),
    ]  # fmt: skip
    return new_notebook(cells=cells)


def test_each_kind_of_slide():
    found = slides.slides_of(lesson())
    assert len(found) == 7 and "Two ranks" in found[0] and "Who waits?" in found[0]
    assert "Before" in found[1] and "After" in found[2] and "<math" in found[1]
    assert "<h2><p>A step of all stages is so many stages long</p>" in found[1]
    assert "<dd><p>micro-batches of a step on one pipeline</p>" in found[1]
    assert "where " not in found[1].partition("<aside>")[0] and "aside" not in found[0]
    assert "Do not show" not in str(found) and "secret" not in str(found)
    assert "Why?" in found[3] and "def swap" in found[3] and found[3].count("<li>") == 2
    assert "<h2><p>So.</p>" in found[4] and "It's A." in found[4].replace("&#x27;", "'")
    assert 'alt="two &lt;ranks&gt;"' in found[4] and "Why?" in found[4]
    assert "<h2><p>One waits for two</p>" in found[5] and PNG in found[5] and "After" in found[5]
    assert "<math" in found[6] and "In the wild" not in found[6]
    text = slides.page("99", found)
    assert text.count("<section>") == 7 and "http" not in text.replace("http://www.w3.org", "")


def test_a_symbol_is_explained_by_the_notation_or_by_the_sentence_that_brings_it_in():
    legend = slides.legend_of(
        r"T = m\, t_F \text{of } x", "Say $t_F$ is how long F takes. And $x$."
    )
    assert legend.count("<dd>") == 3 and "micro-batches" in legend and "how long F" in legend
    assert slides.legend_of("q_9", "Nothing of it.") == ""


def test_every_lesson_has_slides_and_a_title_that_is_no_heading_of_a_picture():
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        found = slides.slides_of(nbformat.read(path, as_version=4))
        assert len(found) >= 8 and "What to remember" in str(found), path.name
        assert not [each for each in found if "<h2></h2>" in each or "<h2><p>Timeline" in each]
