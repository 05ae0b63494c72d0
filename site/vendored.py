"""What the site takes from npm's registry: archives, kept in build/ and known by their hash.

Nothing of them is run on the way. Pyodide must be there; without the type a browser shows its own.
"""

import base64
import hashlib
import os
import sys
import tarfile
import urllib.request
from pathlib import Path

ENGINE = "pyodide.mjs pyodide.asm.mjs pyodide.asm.wasm python_stdlib.zip pyodide-lock.json".split()
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
            "files/stix-two-math-latin-400-normal.woff2": "fonts/math.woff2",
            "LICENSE": "fonts/LICENSE-stix-two-math.txt",
        },
    ),
}


class NotHad(Exception):
    """An archive could not be had; the message says why and what to do."""


def vendored(root: Path) -> dict[str, bytes]:
    """Return all files that the site takes from others, by name. Raises NotHad for Pyodide."""
    found = {}
    for package, (digest, names) in PACKAGES.items():
        try:
            found |= taken(root, package, digest, names)
        except NotHad as error:
            if package.startswith("pyodide"):
                raise
            print(f"left out: {error}", file=sys.stderr)
    return found


def taken(root: Path, package: str, digest: str, names: dict[str, str]) -> dict[str, bytes]:
    """Return the files of an archive by their names on the site; PYODIDE names that archive.

    Raises NotHad if it can't be fetched, or isn't the one with this hash.
    """
    name = package.rpartition("/")[2]
    given = os.environ.get("PYODIDE") if name.startswith("pyodide") else None
    kept = Path(given) if given else root / "build" / f"{name}.tgz"
    if not kept.is_file():
        address = f"https://registry.npmjs.org/{package}.tgz"
        kept.parent.mkdir(parents=True, exist_ok=True)
        try:
            with urllib.request.urlopen(address, timeout=120) as answer:
                kept.write_bytes(answer.read())
        except OSError as error:
            cure = f"Without a network: fetch it elsewhere, and put it at {kept}"
            raise NotHad(f"{address} could not be fetched ({error}). {cure}") from None
    if base64.b64encode(hashlib.sha512(kept.read_bytes()).digest()).decode() != digest:
        words = f"{kept} isn't {name}: its hash differs from the one in site/vendored.py"
        raise NotHad(f"{words}. Remove it, and run this again")
    with tarfile.open(kept) as archive:
        return {here: archive.extractfile(f"package/{one}").read() for one, here in names.items()}
