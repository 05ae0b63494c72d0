"""Sentences: which of them the grammar can write somewhere in a story.

A model that has learned the stories writes whole sentences long before it writes a whole story, so
the share of its sentences that the grammar can write is a measure of what it has learned.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from .grammar import Choice, Part, inside, parts, story_grammar

_END = re.compile(r'[.!?]"?$')
_BEGIN = re.compile(r'[.!?]"?[ \n]+|\n')  # in a text
_BEGIN_AFTER = re.compile(rf"{_BEGIN.pattern}|^ +")  # behind a part that can end one

_NO_END = "".join(rf"(?<!{title}\.)" for title in ("Mr", "Mrs", "Dr"))
_BETWEEN = re.compile(rf'{_NO_END}(?:(?<=[.!?])|(?<=[.!?]"))\s+(?=["A-Z])|\n+')

# What is still to be written, as a linked list: (part, the rest). The last entry is an `Up`.
Rest = tuple


class Up(NamedTuple):
    """The end of `part`: it continues wherever `part` is used."""

    part: object


def sentences(text: str) -> list[str]:
    """Return the complete sentences of a text; a last one without an end is left out.

    A sentence ends with a full stop, an exclamation or a question mark, where a space or a new line
    and a capital letter follow: `"Oh no!" she cried.` is one sentence.
    """
    found = _BETWEEN.split(text.strip())
    return [one.strip() for one in found if _END.search(one.strip())]


def can_write(sentence: str, world: str = "large") -> bool:
    """Return whether `sentence` stands in some story, from one sentence's end to the next.

    A search over all alternatives, deepest first, from every place where a sentence can begin. A
    word that the story has chosen before that may be any word of its class.
    """
    if not _END.search(sentence):
        return False
    (starts, follow), seen = _places(story_grammar(world)), set()
    states = [(rest, 0, ()) for rest in starts.get(sentence[:1], ())]
    while states:
        (part, after), at, memory = states.pop()
        if type(part) is Up:
            key = id(part.part), at, memory
            if at == len(sentence) and not follow[key[0]]:
                return True  # the end of the story
            if key not in seen:
                seen.add(key)
                states += [(rest, at, memory) for rest in follow[key[0]]]
        elif at == len(sentence):
            if edge(part, 0) & {" ", "\n"}:
                return True
        elif sentence[at] not in edge(part, 0):
            continue
        elif type(part) is str:
            left = len(sentence) - at
            if part[:left] == sentence[at : at + len(part)]:
                if len(part) > left and part[left] in " \n":
                    return True
                if len(part) <= left:
                    states.append((after, at + len(part), memory))
        elif type(part) is tuple:
            for item in reversed(part):
                after = item, after
            states.append((after, at, memory))
        elif part.variable is None:
            states += [((one, after), at, memory) for one in part.shown]
        else:
            states += _words(part, after, sentence, at, memory)
    return False


def _words(part: Choice, after: Rest, sentence: str, at: int, memory: tuple) -> list:
    """The states after a word that has a name: the remembered one, or any of its class."""
    known = dict(memory)
    if not part.wheel and part.variable in known:
        return [((part.shown[known[part.variable]], after), at, memory)]
    taken = {known.get(rival) for rival in part.rivals}
    states = []
    for number, shown in enumerate(part.shown):
        fits = type(shown) is not str or sentence.startswith(shown, at)
        if fits and number not in taken:
            more = known | {part.variable: number}
            states.append(((shown, after), at, tuple(sorted(more.items()))))
    return states


@cache
def _can_end(part: Part) -> bool:
    """Whether a sentence can end where a part does."""
    if type(part) is str:
        return bool(_END.search(part))
    inner = inside(part)
    return any(map(_can_end, inner[-1:] if type(part) is tuple else inner))


@cache
def edge(part: Part, side: int) -> frozenset[str]:
    """Return the characters that a part can begin with (side 0) or end with (side -1)."""
    if type(part) is str:
        return frozenset(part[side])
    inner = (part[side],) if type(part) is tuple else inside(part)
    return frozenset().union(*(edge(one, side) for one in inner))


@cache
def _places(start: Choice) -> tuple[dict[str, list[Rest]], dict[int, list[Rest]]]:
    """Return where sentences begin, by their first character; what can follow a part, by its id."""
    starts: list[Rest] = [(start, (Up(start), None))]
    follows: dict[int, list[Rest]] = {id(part): [] for part in parts(start)}
    for part in parts(start):
        end = Up(part), None
        inner = inside(part)
        rest, sequence = end, type(part) is tuple  # or one of several, with one end for all
        for number, one in reversed([*enumerate(inner)]):
            if type(one) is str:
                begins = sequence and number > 0 and _can_end(inner[number - 1])
                starts += _in_text(one, rest, begins)
            else:
                follows[id(one)].append(rest)
            if sequence:
                rest = one, rest
    by_first: dict[str, list[Rest]] = {}
    for part, rest in starts:
        for character in edge(part, 0) if type(part) is not Up else ():
            by_first.setdefault(character, []).append((part, rest))
    return by_first, follows


def _in_text(text: str, rest: Rest, after_end: bool = False) -> Iterator[Rest]:
    """The places of a plain text at which a sentence begins, its end included."""
    for match in (_BEGIN_AFTER if after_end else _BEGIN).finditer(text):
        left = text[match.end() :]
        yield (left, rest) if left else rest
