"""A story has one derivation, and the parser finds it; another text has none."""

import random
import re

from simplellm.stories import derivation, parse, story, surprisal
from simplellm.stories.grammar import build
from simplellm.stories.parsing import parse as parse_with

STORIES = [story(number, seed=11) for number in range(300)]


def test_each_story_has_exactly_one_derivation_and_it_is_the_one_that_wrote_it():
    for number, text in enumerate(STORIES):
        found = parse(text)
        assert len(found) == 1, text
        assert found[0] == derivation(number, seed=11)


def test_altered_stories_have_none():
    chance = random.Random(0)
    for text in STORIES[:40]:
        words = re.findall(r"\w+", text)
        at = chance.randrange(len(words))
        for altered in (
            text + " ",
            text[:-1],
            text[1:],
            text.replace(words[at], words[at] + "x", 1),
            text[: len(text) // 2],
            text + text,
        ):
            assert parse(altered) == []


def test_an_ambiguous_grammar_gives_two_derivations():
    rules = "story\n  the {one}{two}\none\n  a\n  ab\ntwo\n  bc\n  c\n"
    found = parse_with(build([], [("plot_test.txt", rules)]), "the abc")
    assert len(found) == 2
    assert {tuple(pick.index for pick in way) for way in found} == {(0, 0), (1, 1)}


def test_excluded_words_and_their_probabilities():
    words = [("words_test.txt", "person (he, zipf)\n  Tom, Ben, Max\n")]
    grammar = build(words, [("plot_test.txt", "story\n  {hero:person} and {friend:person}.\n")])
    assert parse_with(grammar, "Tom and Tom.") == []
    (way,) = parse_with(grammar, "Ben and Max.")
    tom, ben, most = grammar.classes["person"].weights
    assert [pick.probability for pick in way] == [ben / (tom + ben + most), most / (tom + most)]
    assert surprisal(way) > 0
