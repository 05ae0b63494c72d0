"""Write the game as a page that opens in a browser without Python.

python -m helpers.play               all levels
python -m helpers.play cap -o FILE   begin at one level; write to this file
"""

import argparse
from pathlib import Path

from helpers.files import write_whole
from helpers.plain_errors import plain_errors
from helpers.play.levels import LEVELS
from helpers.play.widget import html


def main(arguments: list[str] | None = None) -> None:
    formatted = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("helpers.play", description=__doc__, formatter_class=formatted)
    parser.add_argument("level", nargs="?", choices=[level.id for level in LEVELS], default="one")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", default=Path("play.html"))
    options = parser.parse_args(arguments)
    path = write_whole(options.output, html(options.level))
    print(f"the game: {path.resolve().as_uri()}")


if __name__ == "__main__":
    with plain_errors():
        main()
