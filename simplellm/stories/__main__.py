"""Print stories, or measure how fast they are written.

python -m simplellm.stories 3            # three stories
python -m simplellm.stories --speed      # megabytes a second on one core, and the floor
"""

import argparse
import time
from itertools import islice

from simplellm.stories import floor, stories
from simplellm.tokenizers import SHIPPED, SPTokenizer


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Short stories, written by a grammar.")
    parser.add_argument("count", type=int, nargs="?", default=1, help="how many stories to print")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip", type=int, default=0, help="leave out the first stories")
    parser.add_argument("--speed", action="store_true", help="measure instead of printing")
    options = parser.parse_args(arguments)
    if options.speed:
        measure()
        return
    for text in islice(stories(options.seed, skip=options.skip), options.count):
        print(text, end="\n\n")


def measure(count: int = 3000) -> None:
    """Print how fast stories are written and encoded, in CPU time of this process."""
    stream = stories()
    next(stream)  # reading the grammar comes first, and only once
    start = time.process_time()
    texts = list(islice(stream, count))
    seconds = time.process_time() - start
    size = sum(map(len, texts))
    print(f"{count} stories, {size / 1e6:.1f} MB: {size / 1e6 / seconds:.1f} MB a second")
    for name in SHIPPED:
        tokenizer = SPTokenizer(name)
        start = time.process_time()
        tokens = sum(len(tokenizer.encode(text)) for text in texts)
        seconds = time.process_time() - start
        print(f"{name}: {tokens / seconds / 1e3:.0f} thousand tokens a second; {floor(tokenizer)}")


if __name__ == "__main__":
    main()
