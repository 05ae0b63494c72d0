import random

import pytest

from simplellm.stories.grammar import build
from simplellm.stories.writing import write

WORDS = "person (he)\n  Tom\nperson (she)\n  Ann\ntoy (noun)\n  ball, owl\n"


def grammar(rules, words=WORDS):
    return build([("words_test.txt", words)], [("plot_test.txt", rules)])


def texts(rules, words=WORDS):
    built = grammar(rules, words)
    return {write(built, random.Random(number).random) for number in range(100)}


def test_slots_forms_and_memory():
    assert texts("story\n  {hero:person} has {toy.a}. {He} likes {his} toy.\n") == {
        "Tom has a ball. He likes his toy.",
        "Tom has an owl. He likes his toy.",
        "Ann has a ball. She likes her toy.",
        "Ann has an owl. She likes her toy.",
    }


def test_a_second_variable_is_another_than_the_first():
    assert texts("story\n  {hero:person} meets {friend:person}.\n") == {
        "Tom meets Ann.",
        "Ann meets Tom.",
    }


def test_continued_lines_weights_capitals_and_new_lines():
    assert texts("story\n  3 {toy.s}\n    ¶ {Toy.a} {more}\nmore\n  1 is\n  0 was\n") == {
        f"{many}\n{one} is" for many in ("balls", "owls") for one in ("A ball", "An owl")
    }


def test_a_feature_can_hold_slots_and_several_texts():
    words = WORDS + "deed\n  jam | did: {he} ate it; {he} spilled {toy.a}\n"
    rules = "story\n  {hero:person}: {thing:deed}, {thing.did}\n"
    assert texts(rules, words) == {
        f"{name}: jam, {who} {what}"
        for name, who in (("Tom", "he"), ("Ann", "she"))
        for what in ("ate it", "spilled a ball", "spilled an owl")
    }


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ("story\n  {nothing} here\n", 'the rule "story" has a slot that nothing fills: {nothing}'),
        ("story\n  {toy.past}\n", 'of the class "toy" has no form "past"'),
        ("story\n  {x:plant}\n", 'asks for the word class "plant", unknown here'),
        ("story\n  {more}\nmore\n  {story}\n", "uses itself: a story would not end"),
        ("story\n  yes\nmore\n  no\n", 'no story uses the rule "more"'),
        ("story\n  {x:toy} {x:person}\n", 'the variable "x" stands for two classes'),
        ("story\n  a {toy\n", "empty or broken template"),
        ("story\n  yes\nstory\n  no\n", 'line 3: "story" does not name a new rule'),
        ("story\n  yes\ntoy\n  no\n", "toy is a word class and a rule"),
    ],
)
def test_a_broken_grammar_is_refused_in_one_sentence(rules, sentence):
    with pytest.raises(ValueError) as caught:
        grammar(rules)
    assert sentence in str(caught.value)
