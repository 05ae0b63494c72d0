"""Settings for nbconvert: pictures keep their words in every template, folded cells their output.

    jupyter nbconvert --config tools/with_words.py --to html notebooks/06_micro_batches.ipynb

Its defaults for pages and slides, the templates "lab" and "reveal", write "No description has been
provided for this image" instead, because they look nowhere for one.
"""

from html import escape


def with_words(notebook, resources):
    """Leave out what JupyterLab folds, and turn a picture into HTML with its alternative text."""
    for cell in notebook.cells:
        if cell.metadata.get("jupyter", {}).get("source_hidden"):
            cell.metadata["transient"] = {"remove_source": True}  # what the templates look for
        for output in cell.get("outputs", []):
            facts = output.get("metadata", {}).get("image/png", {})
            if facts.get("alt") and "image/png" in output.get("data", {}):
                data = output.data.pop("image/png").replace("\n", "")
                width = f' width="{facts["width"]}"' if "width" in facts else ""
                output.data["text/html"] = (
                    f'<img alt="{escape(facts["alt"])}"{width} style="max-width: 100%" '
                    f'src="data:image/png;base64,{data}">'
                )
    return notebook, resources


c.HTMLExporter.preprocessors = [with_words]  # noqa: F821  nbconvert defines c
