"""The projector's page as text: HTML, CSS and JavaScript from assets/, and nothing to fetch."""

from pathlib import Path

from helpers.draw.style import painted

ASSETS = Path(__file__).parent / "assets"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


def files() -> dict[str, tuple[str, str]]:
    """Return for each name in the page's address its kind and its text; the page itself is ""."""
    found = {}
    for path in sorted(ASSETS.iterdir()):
        kind = f"{KINDS[path.suffix]}; charset=utf-8"
        name = "" if path.suffix == ".html" else path.name
        found[name] = (kind, painted(path.read_text(encoding="utf-8")))
    return found
