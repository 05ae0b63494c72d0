"""The floor of a loss curve: the entropy of the stories, below which no model's mean loss lies."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from math import exp

from .grammar import story_grammar
from .information import entropy
from .stream import stories


@dataclass(frozen=True, slots=True)
class Floor:
    """The least mean cross-entropy on endless stories, for one tokenizer.

    Attributes:
        nats_per_token: The floor itself, to be compared with a loss (natural logarithm).
    """

    nats_per_token: float

    @property
    def perplexity(self) -> float:
        """exp(nats_per_token): among how many equally likely tokens the best model hesitates."""
        return exp(self.nats_per_token)


@lru_cache(maxsize=16)
def floor(tokenizer, sample: int = 500, world: str = "large") -> Floor:
    """Return the floor for a tokenizer (anything with `encode`); known ones are remembered.

    The grammar is known and a story has exactly one derivation, so the entropy of a story is that
    of its choices, which a recursion computes exactly. An endless stream of stories, each followed
    by one end-of-text token, then holds entropy(story) / E[tokens of a story] nats per token: no
    model, whatever its size, has a smaller mean loss on it (Shannon 1948, theorem 3).

    Why training does not quite reach it, even with a perfect model: training reads windows of a
    fixed length, and most of them begin in the middle of a story. There the model must guess what
    it could have read: the name of the child, the kind of story, what was lost. The first tokens of
    each window cost more for that reason, and the shorter the window, the more it matters. A loss
    that stays *below* the floor means that something is wrong: the model sees its own target, or
    the same stories again and again.

    Args:
        tokenizer: Its `encode(text)` gives the tokens of a story.
        sample: Number of stories whose tokens are counted; always the same ones, and none that a
            model trains on (they are from the validation split).
        world: Which stories: see `simplellm.stories.story`.
    """
    counts = [
        len(tokenizer.encode(text)) + 1
        for text in islice(stories(split="validation", world=world), sample)
    ]
    return Floor(entropy(story_grammar(world)) / (sum(counts) / sample))
