"""`python tools/notebooks.py [--force | --text | --check] [NAME …]`."""

import argparse
import sys
from pathlib import Path

from lessons.book import books
from lessons.build import bring_up_to_date, fault_of, stale, write_text

ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Build what is stale, or say what is. Returns the exit status: 0 all well, 1 not."""
    parser = argparse.ArgumentParser(prog="python tools/notebooks.py", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="lessons: 01 03_data")
    parser.add_argument("--force", action="store_true", help="execute even what is up to date")
    parser.add_argument("--text", action="store_true", help="keep the outputs: execute later")
    parser.add_argument("--check", action="store_true", help="execute nothing, say what is stale")
    options = parser.parse_args(arguments)
    chosen = books(root, options.names)
    if options.check:
        sentences = stale(root, chosen)
        print("\n".join(sentences) or f"All {len(chosen)} notebooks are up to date.")
        return bool(sentences)
    if faults := [] if options.text else list(filter(None, map(fault_of, chosen))):
        print(*faults, sep="\n")  # now, and not after the minutes that the others take
        return 1
    if options.text:
        results = [write_text(book) for book in chosen]
    else:
        results = [bring_up_to_date(book, options.force) for book in chosen]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
