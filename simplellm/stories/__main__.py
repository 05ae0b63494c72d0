"""Print stories: python -m simplellm.stories 3"""

import argparse
from itertools import islice

from simplellm.stories import check_whole, stories


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Short stories, written by a grammar.")
    parser.add_argument("count", type=int, nargs="?", default=1, help="how many stories to print")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip", type=int, default=0, help="leave out the first stories")
    options = parser.parse_args(arguments)
    try:
        check_whole("count", options.count, 0)
        for text in islice(stories(options.seed, skip=options.skip), options.count):
            print(text, end="\n\n")
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
