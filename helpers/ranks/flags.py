"""The flags that a script with several ranks takes: its rank, how many, over what."""

import argparse

from helpers.ranks.backend import BACKENDS
from helpers.ranks.discover import SOURCES, Place
from helpers.ranks.place import find_place

MOST_SECONDS = 1_000_000  # eleven days


def add_rank_flags(parser: argparse.ArgumentParser, ranks: int) -> None:
    """Add RANK, --world-size, --rank-source, --backend and --timeout.

    ranks: the world size where nobody says one.
    """
    parser.add_argument("rank", nargs="?", help="this process's rank, from 0; torchrun gives it")
    add = parser.add_argument_group("ranks").add_argument
    add("--world-size", type=int, help=f"how many ranks there are ({ranks})")
    add("--rank-source", choices=SOURCES, default="auto", help="who tells the rank (auto)")
    add("--backend", choices=BACKENDS, default="auto", help="what carries the messages (auto)")
    add("--timeout", type=seconds, default=300.0, help="seconds to wait for another rank (300)")
    parser.set_defaults(default_world_size=ranks)


def seconds(text: str) -> float:
    """Return the seconds that a rank waits for another one; ranks need about one to meet."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 1 <= number <= MOST_SECONDS:
        raise argparse.ArgumentTypeError(
            f"must be a number of seconds from 1 to {MOST_SECONDS:,}, not {text!r}"
        )
    return number


def place_from(options: argparse.Namespace) -> Place:
    """The place of this process, from its flags and its environment."""
    return find_place(
        options.rank,
        options.world_size,
        default_world_size=options.default_world_size,
        source=options.rank_source,
    )
