"""Write the game as a page that opens in a browser without Python.

python -m helpers.play               all levels
python -m helpers.play cap -o FILE   begin at one level; write to this file
"""

import argparse
import sys
from pathlib import Path

from helpers.files import write_whole
from helpers.play.widget import html


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m helpers.play", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("level", nargs="?", default="", help="such as cap")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", default=Path("play.html"))
    options = parser.parse_args(arguments)
    try:
        path = write_whole(options.output, html(options.level))
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"the game: {path.resolve().as_uri()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
