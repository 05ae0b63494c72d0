"""The proof by structure: every choice is a prefix code, and words never join across slots."""

import pytest

from simplellm.stories.grammar import build, story_grammar
from simplellm.stories.unambiguous import clash, clashes, joined_words


def test_every_choice_of_the_stories_is_a_prefix_code():
    assert clashes(story_grammar()) == []


def test_no_word_goes_on_across_a_border():
    assert joined_words(story_grammar()) == []


@pytest.mark.parametrize(
    ("alternatives", "text"),
    [
        (("a cat", "a cat"), "a cat"),
        (("a cat", "a cat and a dog"), "a cat"),
        (("one", "two", "one more"), "one"),
    ],
)
def test_clash_finds_the_text(alternatives, text):
    assert clash(alternatives) == text


def grammar(rules, words=""):
    return build([("words_test.txt", words)], [("plot_test.txt", rules)])


def test_a_clash_behind_slots_and_rules_is_found():
    words = "name\n  Tom, Ann\n"
    good = "story\n  {name} ran.\n  {name} sat {where}.\nwhere\n  down\n  up\n"
    assert clashes(grammar(good, words)) == []
    bad = "story\n  {name} sat down.\n  {name} sat {where}.\nwhere\n  down\n  up\n"
    (sentence,) = clashes(grammar(bad, words))
    assert sentence.startswith('story: two alternatives can write "') and "sat down." in sentence


def test_joined_words_are_found():
    assert joined_words(grammar("story\n  {toy}s\n", "toy\n  train, ball\n")) != []
    assert joined_words(grammar("story\n  {toy}'s end\n", "toy\n  train, ball\n")) == []
