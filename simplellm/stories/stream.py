"""Stories by number: the same story for the same number, on every machine."""

from collections.abc import Iterator
from random import Random

from .grammar import Grammar, story_grammar
from .writing import Derivation, Pick, write

SPLITS = ("train", "validation")


def story(index: int, seed: int = 0, split: str = "train", world: str = "large") -> str:
    """Return story number `index` of the endless series that `seed` and `split` name.

    A pure function: any story can be had without those before it. All chance comes from
    `random.Random(key).random()` with a whole number as key; Python promises that this sequence
    stays the same in later versions. Weights are whole numbers, so no sum can round differently.

    The splits "train" and "validation" are two series with different keys; so are two seeds. The
    world is "large", or "small" for stories with fewer words and fewer turns. Wrong arguments raise
    `ValueError`.
    """
    return write(story_grammar(world), Random(_key(index, seed, split)).random)


def derivation(index: int, seed: int = 0, split: str = "train", world: str = "large") -> Derivation:
    """Return the choices that wrote `story(index, seed, split, world)`, in order."""
    picks: list[Pick] = []
    write(story_grammar(world), Random(_key(index, seed, split)).random, picks)
    return tuple(picks)


def stories(
    seed: int = 0,
    split: str = "train",
    rank: int = 0,
    world_size: int = 1,
    skip: int = 0,
    world: str = "large",
) -> Iterator[str]:
    """Yield the endless stories whose number leaves `rank` when divided by `world_size`.

    No two ranks read the same story, and together they read all of them. `skip` leaves out the
    first stories of this rank's part: rank r starts at story number skip * world_size + r.
    """
    if not (isinstance(world_size, int) and world_size >= 1):
        raise ValueError(f"world_size is {world_size!r}, and there must be at least 1 rank.")
    if not (isinstance(rank, int) and 0 <= rank < world_size):
        raise ValueError(f"rank is {rank!r}, and ranks go from 0 to {world_size - 1} here.")
    check_whole("skip", skip, 0)
    grammar = story_grammar(world)
    return _stories(grammar, _key(rank + skip * world_size, seed, split), world_size)


def _stories(grammar: Grammar, key: int, step: int) -> Iterator[str]:
    random = Random()
    while True:
        random.seed(key)
        yield write(grammar, random.random)
        key += step << 65


def _key(index: int, seed: int, split: str) -> int:
    """Return a number of its own for each (index, seed, split)."""
    check_whole("the story number", index, 0)
    if not (isinstance(seed, int) and 0 <= seed < 2**64):
        raise ValueError(f"seed is {seed!r}, and must be a whole number from 0 to 2**64 - 1.")
    check_split(split)
    return (index << 65) | (SPLITS.index(split) << 64) | seed


def check_split(split: str) -> None:
    """Raise ValueError unless `split` is one of the two."""
    if split not in SPLITS:
        raise ValueError(f'split is {split!r}, and must be "train" or "validation".')


def check_whole(name: str, value: int, least: int, why: str = "") -> None:
    """Raise ValueError unless the argument called `name` is a whole number, `least` or more."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {value!r}, and must be a whole number, {least} or more{why}.")
