"""What docs/viewers.md says of nbconvert: which of its templates keep the words of a picture."""

import re
from pathlib import Path

import pytest
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output
from traitlets.config import PyFileConfigLoader

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "viewers.md"
PICTURE = new_output(
    "display_data", {"image/png": "AA=="}, metadata={"image/png": {"alt": "The loss falls."}}
)


@pytest.mark.parametrize("template", ["classic", "basic", "lab", "reveal"])
def test_with_our_settings_every_template_keeps_them(template):
    folded = new_code_cell("import torch", metadata={"jupyter": {"source_hidden": True}})
    notebook = new_notebook(cells=[folded, new_code_cell("show(loss)", outputs=[PICTURE])])
    config = PyFileConfigLoader(str(ROOT / "tools/with_words.py")).load_config()
    exporter = HTMLExporter(config=config, template_name=template)
    page, _ = exporter.from_notebook_node(notebook)
    (picture,) = re.findall(r"<img[^>]*>", page)
    assert 'alt="The loss falls."' in picture
    assert ">show<" in page.replace("\n", "") and ">torch<" not in page


@pytest.mark.parametrize(
    ("template", "kept"), [("classic", True), ("basic", True), ("lab", False), ("reveal", False)]
)
def test_a_template_keeps_the_words_of_a_saved_picture_where_the_page_says_so(template, kept):
    """If one that loses them keeps them some day, the page's row goes."""
    notebook = new_notebook(cells=[new_code_cell("show(loss)", outputs=[PICTURE])])
    page, _ = HTMLExporter(template_name=template).from_notebook_node(notebook)
    (picture,) = re.findall(r"<img[^>]*>", page)
    assert ('alt="The loss falls."' in picture) == kept, picture
    (row,) = [
        line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| nbconvert")
    ]
    takes, _, loses = row.partition("take the alternative text")
    assert f"`{template}`" in (takes if kept else loses)
