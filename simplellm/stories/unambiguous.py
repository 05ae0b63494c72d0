"""Why a story has one derivation: every choice of the grammar is a prefix code.

A choice is a *prefix code* when no text that one alternative can write is the beginning of a text
(or the whole of a text) that another can write. Whoever reads from left to right then knows each
alternative for certain from the text that follows, whatever comes after it. So two derivations of
one text cannot part anywhere: there is at most one. (The same property makes Huffman's code
decodable; Cover and Thomas, "Elements of information theory", section 5.1, "instantaneous".)

The test compares words, not letters ("cat" does not begin "cattle"). That is sound as long as no
word goes on across a border between two parts, which `joined_words` checks.
"""

import re
from functools import cache
from itertools import pairwise

from .grammar import Choice, Draw, Grammar, Part, Recall, inside
from .sentences import edge

_TOKEN = re.compile(r"\w+|\W")
_WORD = re.compile(r"\w")


@cache  # one look of a class stands in many slots
def clash(alternatives: tuple[Part, ...]) -> str | None:
    """Return a text on which a choice is no prefix code, or None if there is no such text.

    All alternatives are followed at once, word by word; those that can write the same words so far
    stay together. A remembered word counts as any word of its class: the check is stricter than it
    needs to be, never less strict.
    """
    start = frozenset((index, (part, None)) for index, part in enumerate(alternatives))
    waiting, seen = [(start, ())], set()
    while waiting:
        group, words = waiting.pop()
        following: dict[str, set] = {}
        for index, rest in group:
            for word, after in _steps(rest):
                if word is None:  # this alternative can end here, another one is here as well
                    return "".join(words)
                following.setdefault(word, set()).add((index, after))
        for word, states in following.items():
            state = frozenset(states)
            if len({index for index, _ in states}) > 1 and state not in seen:
                seen.add(state)
                waiting.append((state, (*words, word)))
    return None


def _steps(rest):
    """Yield (next word, what follows it) for each way to go on; (None, None) for the end."""
    if rest is None:
        yield None, None
        return
    part, after = rest
    if type(part) is str:
        word = _TOKEN.match(part)[0]
        left = part[len(word) :]
        yield word, (left, after) if left else after
    elif type(part) is tuple:
        for item in reversed(part):
            after = item, after
        yield from _steps(after)
    else:
        for inner in inside(part):
            yield from _steps((inner, after))


def clashes(grammar: Grammar) -> list[str]:
    """Return one sentence for each choice or draw that is no prefix code."""
    out = []
    for node in grammar.parts():
        if type(node) in (Choice, Draw) and (text := clash(inside(node))) is not None:
            out.append(f'{node.name}: two alternatives can write "{text}".')
    return out


def joined_words(grammar: Grammar) -> list[str]:
    """Return one sentence for each place where a word could go on across a border of parts."""
    out = []
    for node in grammar.parts():
        for part in inside(node):
            for left, right in pairwise(part) if type(part) is tuple else ():
                if any(map(_WORD.match, edge(left, -1))) and any(map(_WORD.match, edge(right, 0))):
                    name = node.variable if type(node) is Recall else node.name
                    out.append(f"{name}: nothing stands between two slots or words.")
    return out
