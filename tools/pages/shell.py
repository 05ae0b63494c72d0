"""The frame around every page: what it's about, links to the others, style and scripts."""

import re
import tomllib
from html import escape
from pathlib import Path

from helpers.syllabus import LESSONS

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CITED = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
HOME, SITE = (PROJECT["tool"]["lab"][name].rstrip("/") for name in ("repository", "site"))
LAB = "Distributed ML Lab"
IDEA = (
    f"How large language models are trained on many machines: {len(LESSONS)} lessons that run on "
    "one laptop, and a game, sliders and puzzles that run in the browser."
)
GLASS = (
    '<svg width="15" height="15" viewBox="0 0 15 15" fill="none" stroke="currentColor" '
    'stroke-width="1.8" aria-hidden="true"><circle cx="6" cy="6" r="4.5"/>'
    '<path d="M9.5 9.5 14 14"/></svg>'
)
CURRENT = ' aria-current="page"'
PAGES = (
    ("index.html", "Lessons"),
    ("play.html", "Play"),
    ("explore.html", "Explore"),
    ("puzzles.html", "Puzzles"),
)
# Styles may stand in the page, as in pictures; scripts may not. A worker brings its own policy.
POLICY = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; object-src 'none'; base-uri 'self'; form-action 'self'"
)


def framed(
    title: str,
    body: str,
    name: str = "",
    up: str = "",
    scripts: tuple[str, ...] = (),
    about: str = IDEA,
) -> str:
    """Return a whole page.

    name: its file, seen from the top of the site. up: "../" for a page in a folder. about: a
    sentence, for those who are shown a link to it.
    """
    links = "".join(
        f'<a href="{up}{page}"{CURRENT if page == name else ""}>{words}</a>'
        for page, words in PAGES
    )
    loads = "".join(f'<script type="module" src="{up}{each}"></script>' for each in scripts)
    fonts = ["sans.woff2", "italic.woff2", "code.woff2", *(["math.woff"] if up else [])]
    early = "".join(
        f'<link rel="preload" as="font" crossorigin href="{up}fonts/{font}">\n' for font in fonts
    )
    whole = LAB if title == LAB else f"{title} · {LAB}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(whole)}</title>
{card(whole, about, name)}<link rel="icon" type="image/svg+xml" href="{up}favicon.svg">
{early}<link rel="stylesheet" href="{up}site.css">
</head>
<body>
<a class="skip" href="#main">To the text</a>
<header><a class="lab" href="{up}index.html"><img src="{up}favicon.svg" width="26" height="26"
alt="">{LAB}</a><nav aria-label="pages">{links}</nav><form role="search" action="{up}search.html">
<input type="search" name="q" aria-label="Search all lessons" placeholder="Search" required>
<button type="submit" aria-label="Search">{GLASS}</button></form>
</header>
<main id="main">
{body}
</main>
<footer><p>{credits(up)}</p>
<p>The lessons themselves run on your machine.</p></footer>
<script type="module" src="{up}site.js"></script>{loads}
</body>
</html>
"""


def card(title: str, about: str, name: str) -> str:
    """Return what a search or a chat shows of a link; addresses only where the site has one."""
    facts = [("description", about), ("twitter:card", "summary_large_image" if SITE else "summary")]
    graph = [("type", "website"), ("site_name", LAB), ("title", title), ("description", about)]
    link = ""
    if SITE and name:
        where = escape(f"{SITE}/{name.removesuffix('index.html')}")
        link = f'<link rel="canonical" href="{where}">\n'
        graph += [("url", where), ("image", f"{SITE}/card.png")]
    metas = [f'name="{key}" content="{escape(value)}"' for key, value in facts]
    metas += [f'property="og:{key}" content="{escape(value)}"' for key, value in graph]
    return "".join(f"<meta {meta}>\n" for meta in metas) + link


def credits(up: str) -> str:
    """Return who made the lab, where it is, and what may be done with it."""
    authors = ", ".join(re.findall(r"^  - (?:name|alias): (.+)$", CITED, re.M))
    file = f"{HOME}/blob/main/" if HOME else ""
    named = {
        name: f'<a href="{file}{name}">{words}</a>' if file else words
        for name, words in (("LICENSE", "MIT"), ("LICENSE-TEXT", "CC BY 4.0"))
    }
    source = f' · <a href="{HOME}">Source code</a>' if HOME else ""
    return (
        f"{escape(authors)} · version {PROJECT['project']['version']} · code {named['LICENSE']}, "
        f"text and figures {named['LICENSE-TEXT']}{source} · "
        f'<a href="{up}glossary.html">Glossary</a> · <a href="{up}measured.html">Measured</a> · '
        f'<a href="{up}made_of.html">What this site is made of</a>'
    )
