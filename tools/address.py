"""Write what needs the repository's address: badges, links to hosted machines, the citation.

    python tools/address.py        after [tool.lab] repository in pyproject.toml has changed

It stands between two marks in each file of `places`. While the address is empty so are these
places: a link to a repository that isn't there helps nobody.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIRST = "notebooks/00_welcome.ipynb"


def address(root: Path = ROOT) -> str:
    """Return the repository's address, such as https://github.com/OWNER/NAME, or ""."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["tool"]["lab"]["repository"].rstrip("/")


def places(url: str) -> dict[str, tuple[str, str, str]]:
    """Return {file: (begin, text, end)}; the texts are empty without an address."""
    host, _, name = url.removeprefix("https://").partition("/")
    hosted = {
        "Codespaces": f"https://codespaces.new/{name}",
        "Binder": f"https://mybinder.org/v2/gh/{name}/HEAD?urlpath=lab/tree/{FIRST}",
        "Colab": f"https://colab.research.google.com/github/{name}/blob/main/{FIRST}",
    }
    badge = f"{url}/actions/workflows/tests.yml"
    links = " · ".join(f"[{where}]({link})" for where, link in hosted.items())
    open_it = f"Look around, solutions included: {links}." if host == "github.com" else ""
    begin, end = "<!-- begin address -->", "<!-- end address -->"
    tests = f"[![tests]({badge}/badge.svg)]({badge}) {open_it}" if url else ""
    urls = f'[project.urls]\nRepository = "{url}"\nChangelog = "{url}/blob/main/CHANGELOG.md"\n\n'
    return {
        "README.md": (begin, tests, end),
        "docs/hosted.md": (begin, open_it if url else "", end),
        "CITATION.cff": ("# begin address\n", f"repository-code: {url}\n" if url else "", "# end"),
        "pyproject.toml": ("# begin address\n", urls if url else "", "# end"),
    }


def main(root: Path = ROOT) -> int:
    for name, (begin, text, end) in places(address(root)).items():
        path = root / name
        before = path.read_text(encoding="utf-8")
        pattern = f"{re.escape(begin)}.*?{re.escape(end)}"
        after, count = re.subn(pattern, lambda _, t=begin + text + end: t, before, flags=re.S)
        if count != 1:
            print(f"{name} has no place for the address: {begin.strip()} … {end}", file=sys.stderr)
            return 1
        path.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
