"""The information in a story: surprisal of one derivation, entropy of the grammar.

Everything is in nats (natural logarithm; 1 nat = 1.44 bits). A story has one derivation, so the
surprisal of the derivation is the surprisal of the text: no model can expect to code stories in
fewer nats than the entropy (Shannon, "A mathematical theory of communication", 1948, theorem 3).
"""

from collections import Counter
from functools import cache
from math import fsum, log

from .grammar import Choice, Draw, Grammar, Part, Recall, inside
from .writing import Derivation

# Which variables are known, each with the number of rivals that were known when it was drawn.
Known = frozenset[tuple[str, int]]


def surprisal(derivation: Derivation) -> float:
    """Return -log p of a derivation in nats: the sum over its choices."""
    return -fsum(log(pick.probability) for pick in derivation)


def entropy(grammar: Grammar) -> float:
    """Return the expected surprisal of a story in nats, exactly (no sampling).

    The recursion goes over the parts: a choice adds its own entropy and the mean of what follows in
    its alternatives. What a draw adds depends on how many words are excluded, and that depends on
    which variables are known: so the recursion carries the distribution over those.
    """
    nats, _ = _walk(grammar.start, frozenset(), {})
    return nats


def _walk(part: Part, known: Known, done: dict) -> tuple[float, dict[Known, float]]:
    """Return the entropy of `part`, and what is known after it with which probability."""
    if type(part) is str:
        return 0.0, {known: 1.0}
    # Only the variables that `part` itself touches can change its entropy: the others are set
    # aside, so that a part is worked out once and not again in every story that uses it.
    touched = _variables(part)
    before = frozenset(item for item in known if item[0] in touched)
    key = id(part), before
    if key not in done:
        rule = {tuple: _sequence, Choice: _choice, Draw: _draw, Recall: _recall}[type(part)]
        done[key] = rule(part, before, done)
    nats, outs = done[key]
    return nats, {known | out: share for out, share in outs.items()}


@cache
def _variables(part: Part) -> frozenset[str]:
    """Return the variables that a part draws, recalls or excludes."""
    if type(part) is str:
        return frozenset()
    own = getattr(part, "variable", None)
    rivals = part.rivals if own and type(part) is Draw else ()
    return frozenset((own, *rivals) if own else ()).union(*map(_variables, inside(part)))


def _sequence(parts: tuple[Part, ...], known: Known, done) -> tuple[float, dict[Known, float]]:
    nats, states = 0.0, {known: 1.0}
    for part in parts:
        after: dict[Known, float] = {}
        for state, probability in states.items():
            more, outs = _walk(part, state, done)
            nats += probability * more
            for out, share in outs.items():
                after[out] = after.get(out, 0.0) + probability * share
        states = after
    return nats, states


def _choice(choice: Choice, known: Known, done) -> tuple[float, dict[Known, float]]:
    nats, outs, total = 0.0, {}, sum(choice.weights)
    for weight, alternative in zip(choice.weights, choice.alternatives, strict=True):
        probability = weight / total
        more, after = _walk(alternative, known, done)
        nats += probability * (more - log(probability))
        for out, share in after.items():
            outs[out] = outs.get(out, 0.0) + probability * share
    return nats, outs


def _draw(draw: Draw, known: Known, done) -> tuple[float, dict[Known, float]]:
    names = {name for name, _ in known}
    if draw.variable in names:
        raise ValueError(f"{draw.name} is drawn twice in one story: use another variable.")
    rivals = len(names & set(draw.rivals)) if draw.variable else 0
    after = known | {(draw.variable, rivals)} if draw.variable else known
    weights = tuple(draw.words.weights)
    shown = _mean(draw.shown, weights, rivals, after, done, draw.name)
    return draw_entropy(weights, rivals) + shown, {after: 1.0}


def _recall(recall: Recall, known: Known, done) -> tuple[float, dict[Known, float]]:
    rivals = dict(known).get(recall.variable)
    if rivals is None:
        raise ValueError(f'a story can use "{recall.variable}" before it is drawn.')
    weights = tuple(recall.words.weights)
    return _mean(recall.shown, weights, rivals, known, done, recall.variable), {known: 1.0}


def _mean(shown, weights, rivals, known, done, name) -> float:
    """Return the mean entropy of what the entries look like."""
    if id(shown) not in done:  # one look of a class stands in many slots: look through it once
        done[id(shown)] = all(type(part) is str for part in shown)
    if done[id(shown)]:
        return 0.0
    each = []
    for part in shown:
        nats, after = _walk(part, known, done)
        if after.keys() != {known}:
            raise ValueError(f"{name}: a feature cannot draw a variable.")
        each.append(nats)
    if not any(each):
        return 0.0
    return fsum(p * nats for p, nats in zip(marginal(weights, rivals), each, strict=True))


@cache
def draw_entropy(weights: tuple[int, ...], before: int) -> float:
    """Return the entropy of one more draw without replacement, after `before` draws.

    Words of equal weight are alike, so the recursion over what was drawn before goes over counts.
    """
    return _group_entropy(tuple(sorted(Counter(weights).items())), before)


@cache
def _group_entropy(groups: tuple[tuple[int, int], ...], before: int) -> float:
    total = sum(weight * count for weight, count in groups)
    if before == 0:
        return log(total) - fsum(n * w * log(w) for w, n in groups) / total
    nats = 0.0
    for i, (weight, count) in enumerate(groups):
        if count:
            left = (*groups[:i], (weight, count - 1), *groups[i + 1 :])
            nats += weight * count / total * _group_entropy(left, before - 1)
    return nats


@cache
def marginal(weights: tuple[int, ...], before: int) -> tuple[float, ...]:
    """Return how probable each word is as the draw that follows `before` (0 or 1) others."""
    total = sum(weights)
    if before == 0:
        return tuple(weight / total for weight in weights)
    if before == 1:
        each = [weight / total / (total - weight) for weight in weights]
        return tuple(w * (fsum(each) - own) for w, own in zip(weights, each, strict=True))
    raise ValueError("features that are choices: at most one rival may be drawn before.")
