"""Word lists, rules and slots: what a grammar writes, and that its choices are prefix codes."""

import random
import re

import pytest

from simplellm.stories.grammar import WORLDS, build, story_grammar
from simplellm.stories.inflect import article, gerund, past
from simplellm.stories.unambiguous import clashes, joined_words
from simplellm.stories.words import read_words
from simplellm.stories.writing import write


@pytest.mark.parametrize(
    ("sound", "words"),
    [
        ("a", ["ball", "house", "unicorn", "uniform", "ukulele", "one-eyed cat"]),
        ("an", ["apple", "hour", "honest boy", "umbrella", "old boot", "Austrian"]),
    ],
)
def test_article_follows_the_sound(sound, words):
    assert {article(word) for word in words} == {sound}


def test_past_and_gerund_bend_the_first_word():
    assert past("walk the dog") == "walked the dog"
    assert gerund("walk the dog") == "walking the dog"
    verbs = "bake hop carry play mend pour fix rain"
    assert [past(verb) for verb in verbs.split()] == (
        "baked hopped carried played mended poured fixed rained".split()
    )
    assert [gerund(verb) for verb in verbs.split()] == (
        "baking hopping carrying playing mending pouring fixing raining".split()
    )


def read_list(text):
    classes = {}
    read_words(text, "words_test.txt", classes)
    return classes


def test_words_that_break_a_rule_carry_their_forms():
    run, lie, bake = read_list("move (verb)\n  run>ran, lie>lay>lying, bake\n")["move"].entries
    assert (run["ed"], run["ing"]) == (["ran"], ["running"])
    assert (lie["ed"], lie["ing"]) == (["lay"], ["lying"])
    assert bake["ed"] == ["baked"]
    (mouse,) = read_list("toy (noun)\n  mouse>mice\n")["toy"].entries
    assert mouse == {"": ["mouse"], "a": ["a mouse"], "s": ["mice"]}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("  ball\n", "line 1: words before the first class"),
        ("Toy!\n  ball\n", 'line 1: "Toy!" does not open a word class'),
        ("toy (nuon)\n  ball\n", "does not open a word class"),
        ("toy\n  ball | home\n", 'the feature "home" needs a name, a colon and a text'),
    ],
)
def test_a_broken_list_names_its_line(text, sentence):
    with pytest.raises(ValueError) as caught:
        read_list(text)
    assert sentence in str(caught.value) and "words_test.txt" in str(caught.value)


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


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_each_story_has_one_derivation_because_every_choice_is_a_prefix_code(world):
    assert clashes(story_grammar(world)) == []
    assert joined_words(story_grammar(world)) == []


@pytest.mark.parametrize(
    ("alternatives", "text"),
    [
        (("{toy} ran.", "{toy} sat {where}."), None),
        (("{toy} sat down.", "{toy} sat {where}."), r"(ball|owl) sat down\."),
        (("one", "two {toy}", "one more"), "one"),
    ],
)
def test_a_clash_is_found(alternatives, text):
    rules = "story\n  {}\n  {where}\nwhere\n  down\n  up\n".replace("{}", "\n  ".join(alternatives))
    found = clashes(grammar(rules))
    assert len(found) == (text is not None)
    for sentence in found:
        assert re.fullmatch(f'story: two alternatives can write "{text}".', sentence)


def test_joined_words_are_found():
    assert joined_words(grammar("story\n  {toy}s\n"))
    assert not joined_words(grammar("story\n  {toy}'s end\n"))
