"""What stories look like: English that holds together, the same everywhere, shared by ranks."""

import hashlib
import re
from itertools import islice, pairwise

import pytest

from simplellm.stories import stories, story
from simplellm.stories.__main__ import main
from simplellm.stories.grammar import story_grammar
from simplellm.stories.sentences import edge


def test_story_is_a_pure_function_with_random_access():
    wanted = list(islice(stories(seed=2), 20))
    assert [story(number, seed=2) for number in reversed(range(20))] == wanted[::-1]


def test_it_is_the_same_on_every_machine_and_in_every_process():
    # If the grammar was changed on purpose: run `python -m simplellm.train_tokenizer` as well, and
    # write the new beginning here.
    text = "".join(islice(stories(), 100)) + "".join(islice(stories(split="validation"), 100))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "ee37bfcec46471e7"


def test_splits_and_seeds_share_nothing():
    series = [
        set(islice(stories(seed=seed, split=split), 200))
        for seed in (0, 1)
        for split in ("train", "validation")
    ]
    assert len(set().union(*series)) == 800


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"rank": 3, "world_size": 3}, "rank is 3, and ranks go from 0 to 2 here"),
        ({"world_size": 0}, "there must be at least 1 rank"),
        ({"skip": -1}, "skip is -1, and must be a whole number, 0 or more"),
        ({"seed": -1}, "seed is -1, and must be a whole number from 0 to"),
        ({"split": "test"}, 'split is \'test\', and must be "train" or "validation"'),
    ],
)
def test_wrong_arguments(arguments, sentence):
    with pytest.raises(ValueError) as caught:
        stories(**arguments)
    assert sentence in str(caught.value)
    with pytest.raises(ValueError, match="the story number is 'x'"):
        story("x")


def test_stories_are_printed(capsys):
    main(["2", "--seed", "3", "--skip", "1"])
    assert capsys.readouterr().out == f"{story(1, seed=3)}\n\n{story(2, seed=3)}\n\n"


TEXTS = list(islice(stories(seed=5), 1200))


def test_a_before_a_slot_fits_all_that_can_stand_there():
    checked = 0
    for part in story_grammar().parts():
        for left, right in pairwise(part) if type(part) is tuple else ():
            found = re.search(r"\b([Aa]n?) $", left) if type(left) is str else None
            if found:
                vowels = {letter in "aeiouAEIOU" for letter in edge(right, 0)}
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
