"""What the site takes from npm's registry: archives, kept in build/ and known by their hash.

Nothing of them is run on the way. Pyodide must be there; without the type a browser shows its own,
and without MiniSearch the site has no search.
"""

import base64
import hashlib
import io
import os
import re
import sys
import tarfile
import urllib.request
from collections.abc import Iterable
from html import unescape
from pathlib import Path

ENGINE = "pyodide.mjs pyodide.asm.mjs pyodide.asm.wasm python_stdlib.zip pyodide-lock.json".split()
MATH = "fonts/math.woff"
# {archive: (SHA-512, {a file of it: its name on the site})}
PACKAGES = {
    "pyodide/-/pyodide-314.0.7": (
        "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A==",
        {name: f"engine/{name}" for name in ENGINE},
    ),
    "@fontsource-variable/source-sans-3/-/source-sans-3-5.3.1": (
        "u0p5Z/PM2e1uxYOMiodLM6NVzxHwULcB6Oi7QSr2WU/sdoLBFP/BeOZ3YYHeJ6rHsjPZA1nZweZVaV7sf2MAyQ==",
        {
            "files/source-sans-3-latin-wght-normal.woff2": "fonts/sans.woff2",
            "files/source-sans-3-latin-wght-italic.woff2": "fonts/italic.woff2",
            "LICENSE": "fonts/LICENSE-source-sans-3.txt",
        },
    ),
    "@fontsource-variable/source-code-pro/-/source-code-pro-5.3.1": (
        "N0nZDizh8CQ19+AHHA8Ssb1i/aQf4N2lpRl3qZVH4/9f1yNgWzTkBFpc26v+QQr2hm4By4aiv597BCoEg2SDQg==",
        {
            "files/source-code-pro-latin-wght-normal.woff2": "fonts/code.woff2",
            "LICENSE": "fonts/LICENSE-source-code-pro.txt",
        },
    ),
    "@fontsource/stix-two-math/-/stix-two-math-5.3.0": (
        "negoeozw6VSXjZMozwKRSm/dhCQT62csZcuea9I8KYqPaZq/8KbbBBrA02ZHF7AyuR5mVML/p+q0bwFuSIf2GQ==",
        {
            "files/stix-two-math-latin-400-normal.woff": MATH,
            "LICENSE": "fonts/LICENSE-stix-two-math.txt",
        },
    ),
    "minisearch/-/minisearch-7.2.0": (
        "dqT2XBYUOZOiC5t2HRnwADjhNS2cecp9u+TJRiJ1Qp/f5qjkeT5APcGPjHw+bz89Ms8Jp+cG4AlE+QZ/QnDglg==",
        {"dist/es/index.js": "minisearch.js", "LICENSE.txt": "LICENSE-minisearch.txt"},
    ),
}


class NotHad(Exception):
    """An archive could not be had; the message says why and what to do."""


def vendored(root: Path) -> dict[str, bytes]:
    """Return all files that the site takes from others, by name. Raises NotHad for Pyodide."""
    found = {}
    for package in PACKAGES:
        try:
            found |= taken(root, package)
        except NotHad as error:
            if package.startswith("pyodide"):
                raise
            print(f"left out: {error}", file=sys.stderr)
    return found


def taken(root: Path, package: str, about: tuple | None = None) -> dict[str, bytes]:
    """Return the files of an archive by their names on the site. Raises NotHad.

    about: its hash and files, where `PACKAGES` hasn't them.
    """
    digest, names = about or PACKAGES[package]
    name = package.rpartition("/")[2]
    given = os.environ.get("PYODIDE") if name.startswith("pyodide") else None
    kept = Path(given) if given else root / "build" / f"{name}.tgz"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(_fetched(f"https://registry.npmjs.org/{package}.tgz", kept))
    data = kept.read_bytes()
    if base64.b64encode(hashlib.sha512(data).digest()).decode() != digest:
        raise NotHad(
            f"{kept} isn't {name}: its hash differs from the one in tools/pages/vendored.py. "
            "Remove it, and run this again"
        )
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {here: archive.extractfile(f"package/{one}").read() for one, here in names.items()}


def _fetched(address: str, kept: Path) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=120) as answer:
            return answer.read()
    except OSError as error:
        raise NotHad(
            f"{address} could not be fetched ({error}). Without a network: fetch it elsewhere, and "
            f"put it at {kept}"
        ) from None


def only_used(font: bytes, pages: Iterable[bytes]) -> bytes:
    """Return a math font with no more letters than the formulas of the pages have."""
    from fontTools.subset import Options, Subsetter, load_font, save_font

    said = "".join(f for page in pages for f in re.findall("<math.*?</math>", page.decode(), re.S))
    letters = set(unescape(re.sub("<[^>]+>", "", said)))
    for first, italic in (("A", "𝐴"), ("a", "𝑎"), ("Α", "𝛢"), ("α", "𝛼")):  # as <mi> shows a letter
        letters |= {chr(ord(italic) + n) for n in range(26) if chr(ord(first) + n) in letters}
    options = Options(layout_features=["*"], hinting=False, flavor="woff")
    whole = load_font(io.BytesIO(font), options)
    part = Subsetter(options)
    part.populate(unicodes=[ord(letter) for letter in letters | {"ℎ"}])
    part.subset(whole)
    small = io.BytesIO()
    save_font(whole, small, options)
    return small.getvalue()
