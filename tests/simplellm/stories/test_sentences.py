"""Which sentences the grammar can write somewhere in a story."""

from itertools import islice

import pytest

from simplellm.stories import can_write, entropy, parse, sentences, stories


def test_text_is_cut_into_complete_sentences():
    text = 'Tom ran home. "Oh no!" she cried. "Wait."\nThen Mia came? Yes! And he was a'
    assert sentences(text) == [
        "Tom ran home.", '"Oh no!" she cried.', '"Wait."', "Then Mia came?", "Yes!",
    ]  # fmt: skip
    assert sentences("") == sentences("no end") == []


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
    assert len(parse(texts[0], "small")) == 1
    assert 0 < entropy("small") < entropy()
    with pytest.raises(ValueError, match="no world 'medium'"):
        next(stories(world="medium"))
