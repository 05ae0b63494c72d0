"""The widget's JavaScript and style, joined from the files in `assets/`.

Each file is a plain ES module with one job. A notebook and a saved page want a single one: so the
files follow each other, without their imports and exports. No bundler, nothing is fetched.
"""

import re
from functools import cache
from pathlib import Path

ASSETS = Path(__file__).parent / "assets"
# What a file imports stands before it. A test holds that, and that no name is given twice.
FILES = (
    "dom.js",
    "model.js",
    "measure.js",
    "words.js",
    "layout.js",
    "paint.js",
    "lanes.js",
    "draw.js",
    "overview.js",
    "marks.js",
    "numbers.js",
    "legend.js",
    "page.js",
    "player.js",
    "interact.js",
    "save.js",
    "view.js",
    "explore.js",
    "widget.js",
)
_IMPORT = re.compile(r"^import\s*\{[^}]*\}\s*from\s*\"[^\"]*\";\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=function|const|class|async)", re.MULTILINE)


@cache
def module_text() -> str:
    """One ES module whose default export is what anywidget asks for: ``{ render }``."""
    return "\n".join(joinable(asset(name)) for name in FILES)


def joinable(source: str) -> str:
    """A file without its imports and exports; a default export stays."""
    return _EXPORT.sub("", _IMPORT.sub("", source))


@cache
def asset(name: str) -> str:
    """The text of a file in `assets/`."""
    return (ASSETS / name).read_text(encoding="utf-8")
