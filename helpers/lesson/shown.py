"""One thing to look at: HTML for a notebook, plain text for everything else.

A notebook that has not been run on this machine is not trusted yet, and JupyterLab strips `<svg>`,
`<style>` and scripts from its outputs. So the HTML uses only `<img>` and `style=`, and looks the
same before and after the first run.
"""

from dataclasses import dataclass, field
from pathlib import Path

from helpers.clone import ROOT
from helpers.draw.themed import static

# What a built lesson keeps for the pages that `make site` writes, beside its pictures; notebooks
# don't look at it.
PREDICT, REVEAL = "application/x-lab-predict+json", "application/x-lab-reveal+json"


@dataclass(frozen=True)
class Shown:
    """`html` for a notebook; `plain` says the same in words, for a terminal or a screen reader.

    kept: by MIME type, what a built lesson keeps beside it.
    """

    html: str
    plain: str
    kept: dict[str, dict] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        return self.html

    def _repr_mimebundle_(self, **_) -> dict:
        return self.kept if static() else {}  # HTML and text come beside it

    def __repr__(self) -> str:
        return self.plain


def put(thing: object) -> None:
    """Show `thing` in the output of the running cell, or print it outside a notebook."""
    from IPython.display import display

    display(thing)


def find_file(path: str | Path) -> Path:
    """Return `path` relative to the current folder, or else to the top of the repository.

    Raises:
        FileNotFoundError: if it is in neither.
    """
    for candidate in (Path(path), ROOT / path):
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(
        f"There is no file {str(path)!r}, neither in this folder nor from the top of the project: "
        "write its path as seen from there, such as 'primer/intro.py'."
    )
