"""Short stories for children, written by a grammar: endless, seeded, the same on every machine.

>>> from simplellm.stories import story
>>> print(story(0))  # doctest: +SKIP

`story(index)` is one story, `stories()` an endless series divided among ranks, `right_sentences`
counts how many sentences of a text the grammar can write, and `floor(tokenizer)` is the least mean
loss per token that any model can have. All take `world`: "large", or "small" for stories of fewer
words, which a small model learns in half a minute. Everything is plain Python, without torch.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import count, islice
from math import exp
from random import Random
from typing import NamedTuple

from .grammar import WORLDS, story_grammar, write
from .sentences import can_write, sentences

__all__ = ["SPLITS", "WORLDS", "Floor", "can_write", "floor", "right_sentences"]
__all__ += ["sentences", "stories", "story"]

SPLITS = ("train", "validation")
# The entropy of a story in nats. Every choice of the grammar is a prefix code, so a text has one
# derivation, and the entropy is that of its choices: computed exactly, by recursion over the parts.
ENTROPY = {"large": 103.87979039574098, "small": 53.956245980290156}


def story(index: int, seed: int = 0, split: str = "train", world: str = "large") -> str:
    """Return story number `index` of the endless series that `seed` and `split` name.

    Any story can be had without those before it. Raises `ValueError` for wrong arguments.
    """
    return next(stories(seed, split, skip=index, world=world))


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

    All chance comes from `random.Random(key).random()` with a whole number as key; Python promises
    that this sequence stays the same in later versions. The splits "train" and "validation" are two
    series with different keys; so are two seeds.
    """
    check_whole("world_size", world_size, 1)
    check_whole("rank", rank, 0, most=world_size - 1)
    check_whole("skip", skip, 0)
    check_whole("seed", seed, 0, most=2**64 - 1)
    check_one_of("split", split, SPLITS)
    check_one_of("world", world, WORLDS)
    start, key = story_grammar(world), (SPLITS.index(split) << 64) | seed
    numbers = count(rank + skip * world_size, world_size)
    return (write(start, Random((number << 65) | key).random) for number in numbers)


def check_one_of(name: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        raise ValueError(f"{name} is {value!r}, and must be one of {', '.join(known)}.")


def check_whole(name: str, value: int, least: int, why: str = "", most: int | None = None) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        bounds = f", {least} or more" if most is None else f" from {least} to {most}"
        raise ValueError(f"{name} is {value!r}, and must be a whole number{bounds}{why}.")


def right_sentences(texts: Iterable[str], world: str = "large") -> tuple[int, int]:
    """Return how many complete sentences of the texts the grammar can write, and their number."""
    found = [sentence for text in texts for sentence in sentences(text)]
    return sum(can_write(sentence, world) for sentence in found), len(found)


class Floor(NamedTuple):
    """The least mean cross-entropy on endless stories for one tokenizer, to compare a loss with."""

    nats_per_token: float

    @property
    def perplexity(self) -> float:
        """exp(nats_per_token): among how many equally likely tokens the best model hesitates."""
        return exp(self.nats_per_token)


@lru_cache(maxsize=16)
def floor(tokenizer, sample: int = 500, world: str = "large") -> Floor:
    """Return the floor for a tokenizer (anything with `encode`); known ones are remembered.

    An endless stream of stories, each followed by one end-of-text token, holds entropy(story) /
    E[tokens of a story] nats per token: no model, whatever its size, has a smaller mean loss on it
    (Shannon 1948, theorem 3). Training doesn't quite reach it: most windows begin in the middle of
    a story, where the model must guess what it could have read. A loss that stays *below* it means
    that something is wrong: the model sees its own target, or the same stories again and again.

    sample: of how many stories of the validation split the tokens are counted.
    """
    texts = islice(stories(split="validation", world=world), sample)
    tokens = sum(len(tokenizer.encode(text)) + 1 for text in texts)
    return Floor(ENTROPY[world] / (tokens / sample))
