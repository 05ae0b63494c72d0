"""Parsing: from a text back to the choices that wrote it."""

from functools import cache

from .grammar import Choice, Draw, Grammar, Part
from .writing import Derivation, Pick, chance


def parse(grammar: Grammar, text: str) -> list[Derivation]:
    """Return every derivation of `text`: one for a story of this grammar, none for another text.

    A search over all alternatives, deepest first. A state is what is still to be written (a linked
    list of parts), how far the text is read, the words remembered, and the picks so far.
    """
    found = []
    states = [((grammar.start, None), 0, {}, ())]
    while states:
        rest, at, memory, picks = states.pop()
        while rest is not None and type(rest[0]) is str and text.startswith(rest[0], at):
            at += len(rest[0])
            rest = rest[1]
        if rest is None:
            if at == len(text):
                found.append(_unlink(picks))
            continue
        part, after = rest
        if type(part) is str:
            continue  # the text goes on otherwise: a dead end
        if type(part) is tuple:
            for item in reversed(part):
                after = item, after
            states.append((after, at, memory, picks))
        elif type(part) is Choice:
            one = len(part.weights) == 1
            for index, alternative in enumerate(part.alternatives):
                first = alternative[0] if type(alternative) is tuple else alternative
                if type(first) is str and not text.startswith(first, at):
                    continue  # seen to fail here: no state for it
                pick = Pick(part.name, index, part.weights[index] / len(part.wheel))
                states.append(((alternative, after), at, memory, picks if one else (pick, picks)))
        elif type(part) is Draw:
            for index, shown in _entries(part, text, at):
                probability = chance(part, index, memory)
                if probability > 0.0:
                    known = {**memory, part.variable: index} if part.variable else memory
                    pick = Pick(part.name, index, probability)
                    states.append(((shown, after), at, known, (pick, picks)))
        else:
            states.append(((part.shown[memory[part.variable]], after), at, memory, picks))
    return found


def _unlink(picks: tuple) -> Derivation:
    out = []
    while picks:
        pick, picks = picks
        out.append(pick)
    return tuple(reversed(out))


def _entries(draw: Draw, text: str, at: int) -> list[tuple[int, Part]]:
    """Return the entries that can stand at this place of the text."""
    by_text, lengths, others = _index(draw)
    plain = [by_text.get(text[at : at + length], ()) for length in lengths]
    return [(index, draw.shown[index]) for group in [*plain, others] for index in group]


@cache
def _index(draw: Draw) -> tuple[dict[str, list[int]], list[int], list[int]]:
    """Return the entries by their text, the lengths of those texts, and entries with slots."""
    by_text: dict[str, list[int]] = {}
    others = []
    for index, part in enumerate(draw.shown):
        if type(part) is str:
            by_text.setdefault(part, []).append(index)
        else:
            others.append(index)
    return by_text, sorted({len(key) for key in by_text}), others
