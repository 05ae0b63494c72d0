"""Short stories for children, written by a grammar: endless, seeded, the same on every machine.

>>> from simplellm.stories import story
>>> print(story(0))  # doctest: +SKIP

| name | what it returns |
|---|---|
| `story(index)` | one story, by its number |
| `stories()` | endless stories, divided among ranks |
| `derivation(index)` | the choices that wrote a story |
| `sentences(text)` | the complete sentences of a text |
| `can_write(sentence)` | whether some story holds a sentence |
| `right_sentences(texts)` | how many sentences of some texts it can write, of how many |
| `surprisal(derivation)` | its -log probability in nats |
| `entropy()` | the expected surprisal of a story, exactly |
| `floor(tokenizer)` | the least mean loss per token that any model can have on the stories |

All of them take `world`: "large", or "small" for stories of fewer words, which a small model learns
in half a minute.

The grammar is in `assets/`: `words_*.txt` hold the words, `plot_*.txt` the stories; `grammar.py`
says how to read them. Everything is plain Python, without a download and without torch.
"""

from collections.abc import Iterable

from . import information
from .grammar import WORLDS, story_grammar
from .information import surprisal
from .loss_floor import Floor, floor
from .sentences import can_write as _can_write
from .sentences import sentences
from .stream import SPLITS, derivation, stories, story
from .writing import Derivation, Pick

__all__ = [
    "SPLITS",
    "WORLDS",
    "Derivation",
    "Floor",
    "Pick",
    "can_write",
    "derivation",
    "entropy",
    "floor",
    "right_sentences",
    "sentences",
    "stories",
    "story",
    "surprisal",
]


def can_write(sentence: str, world: str = "large") -> bool:
    """Return whether some story holds this sentence: a measure of what a model has learned."""
    return _can_write(story_grammar(world), sentence)


def right_sentences(texts: Iterable[str], world: str = "large") -> tuple[int, int]:
    """Return how many complete sentences of the texts the grammar can write, and their number."""
    found = [sentence for text in texts for sentence in sentences(text)]
    return sum(can_write(sentence, world) for sentence in found), len(found)


def entropy(world: str = "large") -> float:
    """Return the entropy of a story in nats: its expected surprisal, computed exactly."""
    return information.entropy(story_grammar(world))
