"""What stories look like: English that holds together."""

import re
from itertools import islice

from simplellm.stories import stories
from simplellm.stories.grammar import Choice, story_grammar
from simplellm.stories.unambiguous import first_letters

TEXTS = list(islice(stories(seed=5), 1200))


def test_a_before_a_slot_fits_all_that_can_stand_there():
    grammar = story_grammar()
    checked = 0
    for node in [*grammar.choices, *grammar.draws, *grammar.recalls]:
        for part in node.alternatives if type(node) is Choice else node.shown:
            for left, right in zip(part, part[1:], strict=False) if type(part) is tuple else ():
                found = re.search(r"\b([Aa]n?) $", left) if type(left) is str else None
                if found:
                    vowels = {letter in "aeiouAEIOU" for letter in first_letters(right)}
                    assert vowels == {found[1].lower() == "an"}, (left, right)
                    checked += 1
    assert checked > 10


def test_no_slot_is_left_and_the_spacing_is_right():
    for text in TEXTS:
        assert not re.search(r"[{}|¶;]|  | \n|\n | [.,!?]|[.,!?]{2}", text), text
        assert text == text.strip() and text[-1] in '.!?"', text
        assert text.count('"') % 2 == 0, text


def test_sentences_begin_with_a_capital():
    for text in TEXTS:
        starts = re.findall(r'(?:^|\n|[.!?]"? )"?(\w)', text)
        after_speech = re.findall(r'[!?]" (\w)', text)  # "Oh!" cried Tom.
        small = [start for start in starts if start.islower()]
        assert len(small) <= sum(letter.islower() for letter in after_speech), text


def test_boys_are_he_and_girls_are_she():
    people = story_grammar().classes["person"].entries
    child = {person[""][0]: person["child"][0] for person in people}
    seen = 0
    for text in TEXTS:
        for kind, name in re.findall(r"\b(boy|girl) named (\w+)", text):
            assert child[name] == kind
            seen += 1
        # The sentence after the opening is about the hero.
        match = re.match(r"\w[^.]* (boy|girl) named \w+\. (He|She|His|Her) ", text)
        if match:
            assert (match[1] == "boy") == (match[2] in ("He", "His")), text
    assert seen > 500
