"""The frame around every page: title, links to the others, style and scripts."""

from html import escape

LAB = "Distributed ML Lab"
PAGES = (
    ("index.html", "Lessons"),
    ("play.html", "Play"),
    ("explore.html", "Explore"),
    ("design.html", "Design"),
    ("puzzles.html", "Puzzles"),
)


def framed(
    title: str, body: str, here: str = "", up: str = "", scripts: tuple[str, ...] = ()
) -> str:
    """Return a whole page. here: its name in PAGES. up: "../" for a page in a folder."""
    links = "".join(
        f'<a href="{up}{name}"{" aria-current=page" if name == here else ""}>{words}</a>'
        for name, words in PAGES
    )
    loads = "".join(f'<script type="module" src="{up}{name}"></script>' for name in scripts)
    whole = LAB if title == LAB else f"{title} · {LAB}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(whole)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{up}site.css">
</head>
<body data-up="{up}">
<a class="skip" href="#main">To the text</a>
<header><a class="lab" href="{up}index.html">{LAB}</a><nav aria-label="pages">{links}</nav></header>
<main id="main">
{body}
</main>
<footer>This site works offline after the first visit, and so does its Python once it has run here.
The lessons themselves run on your machine.</footer>
<script type="module" src="{up}site.js"></script>{loads}
</body>
</html>
"""
