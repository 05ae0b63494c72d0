"""Where a link of a lesson or a document leads on the site."""

import posixpath
from collections.abc import Callable
from html import escape

# Documents that are pages of the site, because the lessons send their readers there.
DOCUMENTS = {"docs/glossary.md": "glossary.html", "docs/measured.md": "measured.html"}


def links_of(document: str, file_link: Callable[[str], str | None]) -> Callable[[str, str], str]:
    """Return what makes a link of a document: (address, words) -> HTML.

    document: its name in the repository. file_link: the address of a file of the repository that
    is no page here; None: the file's name stands there, and leads nowhere.
    """
    here = posixpath.dirname(page_of(document) or document)

    def where(address: str, words: str) -> str:
        if "://" in address or address.startswith("#"):
            return f'<a href="{escape(address)}">{words}</a>'
        file, _, part = address.partition("#")
        name = posixpath.normpath(posixpath.join(posixpath.dirname(document), file))
        page = page_of(name)
        target = file_link(name) if page is None else posixpath.relpath(page, here or ".")
        if target is None:
            return f'<span class="file" title="{escape(name)}, in the lab">{words}</span>'
        return f'<a href="{escape(target)}{part and "#" + escape(part)}">{words}</a>'

    return where


def page_of(name: str) -> str | None:
    """Return the page that shows a file of the repository; None: none does."""
    folder, file = posixpath.split(name)
    if folder == "notebooks" and file.endswith(".ipynb"):
        return f"lessons/{file.removesuffix('.ipynb')}.html"
    return DOCUMENTS.get(name)
