"""Write the lab's site, static pages that work from any web server: `make site`.

    python tools/make_site.py                   into build/site
    python -m http.server -d build/site         look at it

The pages need no other host. Pyodide, the Python of a browser, the type and the search library are
fetched once from npm's registry, and must have the hashes that stand in tools/pages/vendored.py;
PYODIDE names a file to take instead of the first, and without the others the site does without.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pages.vendored import NotHad  # noqa: E402
from pages.write import write_site  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build/site", metavar="FOLDER")
    options = parser.parse_args()
    try:
        names = write_site(ROOT, options.out)
    except NotHad as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    size = sum((options.out / name).stat().st_size for name in names)
    print(f"{options.out}: {len(names)} files, {size / 1e6:.1f} MB")
    print(f"look at it: python -m http.server -d {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
