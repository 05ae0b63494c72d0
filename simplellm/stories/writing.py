"""Writing: from random numbers to a text and its derivation."""

from collections.abc import Callable
from dataclasses import dataclass

from .grammar import Choice, Draw, Grammar, Part


@dataclass(frozen=True, slots=True)
class Pick:
    """One choice of a derivation: which alternative of what, and how probable it was there."""

    name: str
    index: int
    probability: float


Derivation = tuple[Pick, ...]


def write(grammar: Grammar, random: Callable[[], float], picks: list[Pick] | None = None) -> str:
    """Write one story; `random` returns floats in [0, 1). Each choice made is added to `picks`."""
    out: list[str] = []
    _write((grammar.start,), {}, random, out, picks)
    return "".join(out)


def _write(parts: tuple[Part, ...], memory: dict[str, int], random, out, picks) -> None:
    # The loop that costs time. A wheel holds each alternative as often as its weight says, and
    # random() * n stays below n, so one product and one look-up draw by weight, alike everywhere.
    for part in parts:
        kind = type(part)
        if kind is str:
            out.append(part)
            continue
        if kind is Draw:
            wheel = part.wheel
            index = wheel[int(random() * len(wheel))]
            if part.variable is not None:
                # Drawing until the word is new leaves the new words their renormalized weights.
                taken = [memory.get(rival) for rival in part.rivals]
                while index in taken:
                    index = wheel[int(random() * len(wheel))]
                memory[part.variable] = index
            if picks is not None:
                picks.append(Pick(part.name, index, chance(part, index, memory)))
            shown = part.shown[index]
        elif kind is Choice:
            wheel = part.wheel
            index = wheel[int(random() * len(wheel))]
            if picks is not None and len(part.weights) > 1:
                picks.append(Pick(part.name, index, part.weights[index] / len(wheel)))
            shown = part.alternatives[index]
        elif kind is tuple:
            shown = part
        else:
            shown = part.shown[memory[part.variable]]
        if type(shown) is str:
            out.append(shown)
        else:
            _write(shown if type(shown) is tuple else (shown,), memory, random, out, picks)


def chance(draw: Draw, index: int, memory: dict[str, int]) -> float:
    """Return the probability of an entry, given the words that are remembered already."""
    weights = draw.words.weights
    taken = {memory[rival] for rival in draw.rivals if rival in memory}
    if index in taken:
        return 0.0
    return weights[index] / (len(draw.wheel) - sum(weights[i] for i in taken))
