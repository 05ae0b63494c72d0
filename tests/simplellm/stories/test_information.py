"""How a story was derived and what that tells: surprisal, entropy, the floor of the loss."""

import random
from itertools import islice, permutations
from math import exp, log, sqrt

import pytest

from simplellm.stories import (
    can_write,
    derivation,
    entropy,
    floor,
    sentences,
    stories,
    surprisal,
)
from simplellm.stories.grammar import build
from simplellm.stories.information import entropy as entropy_of
from simplellm.stories.writing import write
from simplellm.tokenizers import SPTokenizer


def grammar(rules, words=""):
    return build([("words_test.txt", words)], [("plot_test.txt", rules)])


def test_surprisal_knows_which_words_are_left():
    names, weights, found = ("Tom", "Ben", "Max"), (14, 11, 9), set()
    rules = "story\n  {hero:person} and {friend:person}.\n"
    built = grammar(rules, "person (he, zipf)\n  Tom, Ben, Max\n")
    for number in range(100):
        picks = []
        text = write(built, random.Random(number).random, picks)
        hero, friend = (pick.index for pick in picks)
        assert text == f"{names[hero]} and {names[friend]}." and hero != friend
        share = weights[hero] / 34 * weights[friend] / (34 - weights[hero])
        assert surprisal(tuple(picks)) == pytest.approx(-log(share))
        found.add(text)
    assert len(found) == 6


def test_text_is_cut_into_complete_sentences():
    text = 'Tom ran home. "Oh no!" she cried. "Wait."\nThen Mia came? Yes! And he was a'
    assert sentences(text) == [
        "Tom ran home.", '"Oh no!" she cried.', '"Wait."', "Then Mia came?", "Yes!",
    ]  # fmt: skip
    assert sentences("") == sentences("no end") == []


@pytest.mark.slow
def test_every_sentence_of_a_story_can_be_written():
    found = [one for text in islice(stories(split="validation"), 6) for one in sentences(text)]
    assert len(found) > 80
    assert [one for one in found if not can_write(one)] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Once and morning of a show the puppet we named soldier.",
        "His home was a small cottage in the end of a long road.",  # at, not in
        "I need.",
        "She loved playing",
        "loved playing outside.",
        "",
    ],
)
def test_other_sentences_cannot(sentence):
    assert not can_write(sentence)


def test_the_small_world_is_a_part_of_the_large_one():
    texts = list(islice(stories(world="small"), 40))
    words = {word for text in texts for word in text.split()}
    assert len(words) < 900 < len({w for t in islice(stories(), 40) for w in t.split()})
    found = [one for text in texts[:3] for one in sentences(text)]
    assert all(can_write(one, "small") for one in found)
    assert 0 < entropy("small") < entropy()
    with pytest.raises(ValueError, match="no world 'medium'"):
        next(stories(world="medium"))


def h(*weights):
    total = sum(weights)
    return -sum(w / total * log(w / total) for w in weights if w)


def test_a_choice_and_a_rule_used_twice():
    rules = "story\n  1 a {coin} {coin}\n  3 b\ncoin\n  x\n  y\n"
    assert entropy_of(grammar(rules)) == pytest.approx(h(1, 3) + 1 / 4 * 2 * log(2))


def test_words_are_drawn_without_replacement():
    names = ", ".join("ABCDEF")
    text = "{a:person} and {b:person} and {c:person}."
    built = grammar(f"story\n  {text}\n  Only {{b:person}}.\n", f"person (zipf)\n  {names}\n")
    weights = built.classes["person"].weights
    assert weights == [14, 11, 9, 7, 6, 6]
    total, three = sum(weights), 0.0
    for a, b, c in permutations(weights, 3):
        share = a / total * b / (total - a) * c / (total - a - b)
        three -= share * log(share)
    assert entropy_of(built) == pytest.approx(log(2) + three / 2 + h(*weights) / 2)


@pytest.mark.parametrize(
    ("story", "nats"),
    [
        ("At the {spot:place} they {spot.do} and {spot.do}.", 14 / 25 * 2 * log(3)),
        ("From {one:place} to {spot:place} to {spot.do}.", 11 / 25 * log(3)),  # the sea came first
    ],
)
def test_features_that_are_choices_are_averaged_over_the_word(story, nats):
    words = "place (zipf)\n  park | do: run; sit; sing\n  sea | do: swim\n"
    assert entropy_of(grammar(f"story\n  {story}\n", words)) == pytest.approx(h(14, 11) + nats)


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


class Letters:
    """One token a character."""

    def encode(self, text):
        return list(text.encode())


def test_floor_is_entropy_over_tokens():
    letters = Letters()
    found = floor(letters, sample=50)
    stream = stories(split="validation")
    mean = sum(len(next(stream).encode()) + 1 for _ in range(50)) / 50
    assert found.nats_per_token == pytest.approx(entropy() / mean)
    assert found.perplexity == pytest.approx(exp(found.nats_per_token))
    assert floor(letters, sample=50) is found  # remembered


def test_the_shipped_tokenizers():
    big, small = (floor(SPTokenizer(name)) for name in ("stories-4096", "stories-1024"))
    assert 0.3 < small.nats_per_token < big.nats_per_token < 0.7
