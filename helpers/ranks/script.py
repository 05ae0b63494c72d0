"""Everything that a script with several ranks does around its lesson: flags, connection, trace.

def read_flags(arguments=None):
    return add_run_flags(TrainingFlags(__doc__, batch_size=1), ranks=3).parse_args(arguments)

def train(options, place, device, say=print):  # the lesson
    return losses, model, recorder.trace()

if __name__ == "__main__":
    run_as_rank(read_flags, train)
"""

import argparse
from collections.abc import Callable
from functools import partial

from helpers.plain_errors import plain_errors
from helpers.ranks.connect import BACKENDS, connect, disconnect
from helpers.ranks.environment import SOURCES, find_place
from helpers.ranks.store import Place

MOST_SECONDS = 1_000_000  # eleven days


def add_run_flags(parser: argparse.ArgumentParser, ranks: int) -> argparse.ArgumentParser:
    """Add the flags that `run_as_rank` reads, and return the parser. ranks: the default number."""
    add_rank_flags(parser, ranks)
    add = parser.add_argument_group("output").add_argument
    add("--trace", metavar="FOLDER", help="leave a trace of each rank there")
    add("--plain", action="store_true", help="print the step and the loss alone, for a program")
    return parser


def run_as_rank(
    read_flags: Callable[[], argparse.Namespace],
    train: Callable[..., tuple],
    fits: Callable[[argparse.Namespace, int], object] | None = None,
    tell: Callable[[argparse.Namespace, Place, tuple], object] | None = None,
) -> None:
    """Run a script as one rank: read its flags, connect, train, save the trace, disconnect.

    Args:
        train: train(options, place, device, say) calls say(step, loss) after each step, and returns
            a tuple that ends in the trace, which --trace saves as rank0.json and so on.
        fits: fits(options, world_size) raises ValueError if the flags don't suit the number of
            ranks, before this rank waits for any other.
        tell: tell(options, place, what train returned) is called before the trace is saved.
    """
    with plain_errors():
        options = read_flags()
        place = place_from(options)
        if fits:
            fits(options, place.world_size)
        device = connect(place, options.backend, options.timeout)
        # For a program: the loss with all its digits.
        say = partial(print, flush=True) if options.plain else partial(say_as_rank, place.rank)
        result = train(options, place, device, say)
        if tell:
            tell(options, place, result)
        if options.trace:
            result[-1].save(f"{options.trace}/rank{place.rank}.json")
        disconnect()


def run_alone(read_flags: Callable[[], argparse.Namespace], train: Callable[..., tuple]) -> None:
    """Run a script on one device. train(options) returns a tuple that ends in the trace."""
    with plain_errors():
        options = read_flags()
        result = train(options)
        if options.trace:
            result[-1].save(options.trace)


def say_as_rank(rank: int, step: int, loss: float) -> None:
    """Print a line to read: the rank, the step, and the loss in nats per token."""
    # torchrun starts python -u, which would write the line and its end apart: ranks' lines mix.
    print(f"rank {rank}  step {step}  loss {loss:.3f}\n", end="", flush=True)


def add_rank_flags(parser: argparse.ArgumentParser, ranks: int) -> None:
    """Add the flags that `place_from` and `connect` need. ranks: the default number."""
    parser.add_argument("rank", nargs="?", help="this process's rank, from 0; torchrun sets it")
    add = parser.add_argument_group("ranks").add_argument
    add("--world-size", type=int, help=f"how many ranks there are ({ranks})")
    add("--rank-source", choices=SOURCES, default="auto", help="where to read the rank (auto)")
    add("--backend", choices=BACKENDS, default="auto", help="what carries the messages (auto)")
    waits = "seconds to wait for another rank (300)"
    add("--timeout", type=timeout_seconds, default=300.0, help=waits)
    parser.set_defaults(default_world_size=ranks)


def timeout_seconds(text: str) -> float:
    """Parse how many seconds a rank waits for another one; ranks need about one to connect."""
    number = text.replace(".", "", 1).isdecimal() and float(text)
    if not 1 <= number <= MOST_SECONDS:
        known = f"a number of seconds from 1 to {MOST_SECONDS:,}"
        raise argparse.ArgumentTypeError(f"must be {known}, not {text!r}")
    return number


def place_from(options: argparse.Namespace) -> Place:
    """Return the place of this process, from its flags and its environment."""
    own, default = (options.rank, options.world_size), options.default_world_size
    return find_place(*own, default_world_size=default, source=options.rank_source)
