"""Ask every address that our pages name whether it is still there.

    python tools/links.py            every page and lesson
    python tools/links.py README.md  these files

Ends with 1 if an address answers 404 or 410, or its host is gone. What refuses programs (403, 429)
or takes too long is listed and costs nothing: only a person can look there. Our own links from page
to page are tested offline, by tests/test_readme.py.
"""

import re
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = re.compile(r"https?://[^\s<>\"'`)\]}|\\]+")
GONE = (404, 410)
OURS = ("http://127.0.0.1", "http://localhost", "http://www.w3.org", "https://example")


def addresses(paths: list[Path]) -> dict[str, Path]:
    """Return every address in these files, and one file that names it."""
    found: dict[str, Path] = {}
    for path in paths:
        for address in ADDRESS.findall(path.read_text(encoding="utf-8")):
            address = address.rstrip(".,;:").partition("#")[0]
            if not address.startswith(OURS) and "{" not in address and "…" not in address:
                found.setdefault(address, path)
    return found


def ask(address: str) -> str:
    """Return "" if it answers, "gone: why", or "unclear: why"."""
    request = urllib.request.Request(address, headers={"User-Agent": "Mozilla/5.0 (link check)"})
    try:
        with urllib.request.urlopen(request, timeout=30):
            return ""
    except urllib.error.HTTPError as error:
        return f"{'gone' if error.code in GONE else 'unclear'}: {error.code}"
    except urllib.error.URLError as error:
        unknown = "Name or service not known" in str(error.reason)
        return f"{'gone' if unknown else 'unclear'}: {error.reason}"
    except (OSError, ValueError) as error:
        return f"unclear: {error}"


def main(arguments: list[str]) -> int:
    pages = [path for path in ROOT.rglob("*.md") if not {".venv", "build"} & set(path.parts)]
    lessons = sorted((ROOT / "notebooks" / "source").glob("*.py"))
    found = addresses([Path(name) for name in arguments] or [*sorted(pages), *lessons])
    with ThreadPoolExecutor(8) as pool:
        said = dict(zip(found, pool.map(ask, found), strict=True))
    for address, why in said.items():
        if why:
            print(f"{why}  {address}  ({found[address].name})")
    gone = sum(why.startswith("gone") for why in said.values())
    print(f"{len(found)} addresses, {gone} gone")
    return int(gone > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
