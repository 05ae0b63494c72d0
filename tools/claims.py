"""`python tools/claims.py [NAME …]`: what the lessons claim, with the numbers of the last build.

A claim lies beside its line in the notebook (helpers/lesson/claims.py). Wide ones come first: each
of them gives a reason.
"""

import argparse
import contextlib
import sys
from pathlib import Path

import nbformat

from helpers.lesson.claims import FACTS, WIDEST
from lessons.book import Book, books

ROOT = Path(__file__).resolve().parents[1]


def claims(book: Book) -> list[dict]:
    """Return what `claim` and its other forms left in the notebook of a lesson."""
    cells = nbformat.read(book.notebook, as_version=4).cells
    outputs = [each for cell in cells for each in cell.get("outputs", [])]
    return [each.data[FACTS] for each in outputs if FACTS in each.get("data", {})]


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Print a line for each claim."""
    parser = argparse.ArgumentParser(prog="python tools/claims.py", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="lessons: 01 03_data")
    chosen = books(root, parser.parse_args(arguments).names)
    found = [(book.name[:2], each) for book in chosen for each in claims(book)]
    wide = [(lesson, each) for lesson, each in found if "because" in each]
    ordered = [*wide, *(pair for pair in found if pair not in wide)]
    lines = [f"{lesson} {each['claim']}" for lesson, each in ordered]
    lines += [f"{len(found)} claims, {len(wide)} of them may be more than {WIDEST:.0%} off"]
    with contextlib.suppress(BrokenPipeError):  # into `head`, for one
        print("\n".join(lines), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
