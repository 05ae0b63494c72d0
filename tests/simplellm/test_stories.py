"""Stories: what the grammar writes and can write, the same everywhere, shared by ranks."""

import hashlib
import re
from itertools import islice
from math import exp, sqrt
from random import Random

import pytest

from simplellm.stories import ENTROPY, can_write, floor, right_sentences, sentences, stories, story
from simplellm.stories.grammar import story_grammar, write
from simplellm.tokenizers import SPTokenizer


def test_it_is_the_same_on_every_machine_and_in_every_process():
    # If the grammar was changed on purpose: run `python -m simplellm.train_tokenizer` as well,
    # write the new sums here, and the mean of the last test's sample into ENTROPY.
    for world, wanted in (("large", "ee37bfcec46471e7"), ("small", "2351af45991dce31")):
        text = "".join(islice(stories(world=world), 100))
        text += "".join(islice(stories(split="validation", world=world), 100))
        assert hashlib.sha256(text.encode()).hexdigest()[:16] == wanted


def test_any_story_alone_and_splits_and_seeds_share_nothing():
    wanted = list(islice(stories(seed=2), 20))
    assert [story(number, seed=2) for number in reversed(range(20))] == wanted[::-1]
    some = (stories(seed, split) for seed in (0, 1) for split in ("train", "validation"))
    assert len({text for series in some for text in islice(series, 200)}) == 800
    assert list(islice(stories(rank=1, world_size=3, skip=5), 2)) == [story(16), story(19)]


def test_wrong_arguments():
    for arguments, sentence in (
        ({"rank": 3, "world_size": 3}, "rank is 3, and must be a whole number from 0 to 2"),
        ({"seed": 2**64}, "and must be a whole number from 0 to"),
        ({"split": "test"}, "split is 'test', and must be one of train, validation"),
        ({"world": "tiny"}, "world is 'tiny', and must be one of large, small"),
    ):
        with pytest.raises(ValueError, match=sentence):
            stories(**arguments)


def test_texts_are_english_that_holds_together():
    for text in islice(stories(seed=5), 1200):
        assert not re.search(r"[{}|¶;]|  | \n|\n | [.,!?]|[.,!?]{2}", text), text
        assert text == text.strip() and text[-1] in '.!?"' and text.count('"') % 2 == 0, text
        hero = re.match(r"\w[^.]* (boy|girl) named \w+\. (He|She|His|Her) ", text)
        assert not hero or (hero[1] == "boy") == (hero[2] in ("He", "His")), text


@pytest.mark.parametrize("world", ENTROPY)
def test_every_sentence_of_a_story_can_be_written(world):
    texts = [story(number, seed=7, world=world) for number in range(15)]
    right, found = right_sentences(texts, world)
    assert right == found > 200
    assert right_sentences(['"Oh no!" she zzz. The end'], world) == (0, 1)


def test_other_sentences_cannot():
    for sentence in (
        "Once and morning of a show the puppet we named soldier.",
        "His home was a small cottage in the end of a long road.",  # at, not in
        "I need.",
        "She loved playing",
        "loved playing outside.",
        "",
    ):
        assert not can_write(sentence)


def test_a_text_is_cut_into_complete_sentences():
    text = 'Mr. Fox ran. "Oh no!" she cried. "Wait."\nThen Mia came? Yes! And he was a'
    found = ["Mr. Fox ran.", '"Oh no!" she cried.', '"Wait."', "Then Mia came?", "Yes!"]
    assert sentences(text) == found and sentences("") == sentences("no end") == []


class Letters:
    """One token a character."""

    def encode(self, text):
        return list(text.encode())


def test_the_floor_is_the_entropy_over_the_tokens():
    letters = Letters()
    found = floor(letters, sample=50)
    mean = sum(len(text.encode()) + 1 for text in islice(stories(split="validation"), 50)) / 50
    assert found.nats_per_token == pytest.approx(ENTROPY["large"] / mean)
    assert found.perplexity == pytest.approx(exp(found.nats_per_token))
    assert floor(letters, sample=50) is found  # remembered
    small = floor(SPTokenizer("stories-small"), world="small")
    assert small.nats_per_token == pytest.approx(0.278415, abs=1e-6)


@pytest.mark.parametrize("world", ENTROPY)
def test_the_entropy_is_the_mean_surprisal(world):
    sample = []
    for number in range(4000):
        nats = []
        text = write(story_grammar(world), Random(number).random, nats)
        assert number or text == write(story_grammar(world), Random(number).random)
        sample.append(sum(nats))
    mean = sum(sample) / len(sample)
    error = sqrt(sum((x - mean) ** 2 for x in sample) / (len(sample) - 1) / len(sample))
    assert error < 0.3 and abs(mean - ENTROPY[world]) < 3 * error
