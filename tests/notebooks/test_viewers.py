"""With the settings that docs/viewers.md names, nbconvert keeps the words of a picture."""

import re
from pathlib import Path

import pytest
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output
from traitlets.config import PyFileConfigLoader

ROOT = Path(__file__).resolve().parents[2]
PICTURE = new_output(
    "display_data", {"image/png": "AA=="}, metadata={"image/png": {"alt": "The loss falls."}}
)


@pytest.mark.parametrize("template", ["basic", "lab"])
def test_with_our_settings_every_template_keeps_them(template):
    folded = new_code_cell("import torch", metadata={"jupyter": {"source_hidden": True}})
    notebook = new_notebook(cells=[folded, new_code_cell("show(loss)", outputs=[PICTURE])])
    config = PyFileConfigLoader(str(ROOT / "tools/with_words.py")).load_config()
    exporter = HTMLExporter(config=config, template_name=template)
    page, _ = exporter.from_notebook_node(notebook)
    (picture,) = re.findall(r"<img[^>]*>", page)
    assert 'alt="The loss falls."' in picture
    assert ">show<" in page.replace("\n", "") and ">torch<" not in page
