"""Entropy: closed forms on small grammars, and the stories' own against a sample."""

from math import log, sqrt

import pytest

from simplellm.stories import derivation, entropy, surprisal
from simplellm.stories.grammar import build
from simplellm.stories.information import draw_entropy, marginal
from simplellm.stories.information import entropy as entropy_of


def grammar(rules, words=""):
    return build([("words_test.txt", words)], [("plot_test.txt", rules)])


def h(*weights):
    total = sum(weights)
    return -sum(w / total * log(w / total) for w in weights if w)


def test_a_choice_and_a_rule_used_twice():
    rules = "story\n  1 a {coin} {coin}\n  3 b\ncoin\n  x\n  y\n"
    assert entropy_of(grammar(rules)) == pytest.approx(h(1, 3) + 1 / 4 * 2 * log(2))


def test_without_replacement_equals_brute_force():
    weights = (14, 11, 9, 1, 1)
    total = sum(weights)
    second = sum(w / total * h(*(weights[:i] + weights[i + 1 :])) for i, w in enumerate(weights))
    assert draw_entropy(weights, 0) == pytest.approx(h(*weights))
    assert draw_entropy(weights, 1) == pytest.approx(second)
    third = 0.0
    for i, a in enumerate(weights):
        for j, b in enumerate(weights):
            if i != j:
                rest = [w for k, w in enumerate(weights) if k not in (i, j)]
                third += a / total * b / (total - a) * h(*rest)
    assert draw_entropy(weights, 2) == pytest.approx(third)
    assert draw_entropy((1, 1, 1), 2) == pytest.approx(0.0)


def test_marginal_of_a_second_draw():
    weights = (5, 3, 2)
    want = [3 / 10 * 5 / 7 + 2 / 10 * 5 / 8, 5 / 10 * 3 / 5 + 2 / 10 * 3 / 8, None]
    found = marginal(weights, 1)
    assert found[:2] == pytest.approx(want[:2]) and sum(found) == pytest.approx(1.0)


def test_another_than_before_in_a_grammar():
    words = "person (he, zipf)\n  Tom, Ben, Max\n"
    rules = "story\n  {hero:person} and {friend:person}.\n  Only {friend:person}.\n"
    weights = (14, 11, 9)
    built = grammar(rules, words)
    assert built.classes["person"].weights == list(weights)
    one, two = draw_entropy(weights, 0), draw_entropy(weights, 1)
    assert entropy_of(built) == pytest.approx(log(2) + (one + two) / 2 + one / 2)


def test_features_that_are_choices_are_averaged_over_the_word():
    words = "place (zipf)\n  park | do: run; sit; sing\n  sea | do: swim\n"
    rules = "story\n  At the {spot:place} they {spot.do} and {spot.do}.\n"
    assert entropy_of(grammar(rules, words)) == pytest.approx(h(14, 11) + 14 / 25 * 2 * log(3))


def test_a_variable_that_may_be_missing_is_refused():
    words = "toy\n  ball, kite\n"
    with pytest.raises(ValueError, match='can use "x" before it is drawn'):
        entropy_of(grammar("story\n  {maybe} {x}\nmaybe\n  a {x:toy}\n  nothing\n", words))
    with pytest.raises(ValueError, match="drawn twice in one story"):
        entropy_of(grammar("story\n  {x:toy} {again}\nagain\n  {x:toy}\n", words))


def test_the_stories_sampled_surprisal_agrees_with_the_exact_entropy():
    sample = [surprisal(derivation(number, seed=4)) for number in range(1500)]
    mean = sum(sample) / len(sample)
    deviation = sqrt(sum((x - mean) ** 2 for x in sample) / (len(sample) - 1))
    error = deviation / sqrt(len(sample))
    assert error < 0.5
    assert abs(mean - entropy()) < 3 * error
