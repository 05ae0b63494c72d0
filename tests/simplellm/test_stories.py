"""Stories: what the grammar writes and can write, the same everywhere, shared by ranks."""

import hashlib
import re
from itertools import islice
from math import exp, sqrt
from random import Random

import pytest

from simplellm.stories import ENTROPY, can_write, floor, right_sentences, sentences, stories, story
from simplellm.stories.grammar import article, build, inflected, read_words, story_grammar, write
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


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"rank": 3, "world_size": 3}, "rank is 3, and must be a whole number from 0 to 2"),
        ({"seed": 2**64}, "and must be a whole number from 0 to"),
        ({"split": "test"}, "split is 'test', and must be one of train, validation"),
        ({"world": "tiny"}, "world is 'tiny', and must be one of large, small"),
    ],
)
def test_wrong_arguments(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        stories(**arguments)


def test_word_forms():
    for sound, words in (
        ("a", "ball house unicorn uniform ukulele one-eyed"),
        ("an", "apple hour honest umbrella Austrian"),
    ):
        assert {article(word) for word in words.split()} == {sound}
    verbs = "walk bake hop carry play mend pour fix rain see".split()
    assert [inflected(f"{verb} up", "ed") for verb in verbs] == [
        f"{verb} up"
        for verb in "walked baked hopped carried played mended poured fixed rained seed".split()
    ]
    assert [inflected(verb, "ing") for verb in verbs] == (
        "walking baking hopping carrying playing mending pouring fixing raining seeing".split()
    )
    text = (
        "# moves\nmove (verb)\n  run>ran, lie>lay>lying, bake\ntoy (noun, zipf)\n  mouse>mice, fly"
    )
    classes = read_words(text)
    run, lie, bake = classes["move"][0]
    assert (run["ed"], run["ing"]) == (["ran"], ["running"])
    assert (lie["ed"], lie["ing"], bake["ed"]) == (["lay"], ["lying"], ["baked"])
    mouse = {"": ["mouse"], "a": ["a mouse"], "s": ["mice"]}
    assert classes["toy"] == ([mouse, {"": ["fly"], "a": ["a fly"], "s": ["flies"]}], [14, 11])


WORDS = "person (he)\n  Tom\nperson (she)\n  Ann\ntoy (noun)\n  ball, owl\n"
WORDS += "deed\n  jam | did: {he} ate it; {he} spilled {toy.a}\n"


@pytest.mark.parametrize(
    ("rules", "wanted"),
    [
        (
            "story\n  {hero:person} has {toy.a}. {He} likes {his} toy.\n",
            {
                f"{who} has {toy}. {his} toy."
                for who, his in (("Tom", "He likes his"), ("Ann", "She likes her"))
                for toy in ("a ball", "an owl")
            },
        ),
        (
            "story\n  {hero:person} meets {friend:person}.\n",  # another one than the first
            {"Tom meets Ann.", "Ann meets Tom."},
        ),
        (
            "story\n  3 {toy.s}\n    ¶ {Toy.a} {more}\n# not this\nmore\n  1 is\n  0 was\n",
            {f"{many}\n{one} is" for many in ("balls", "owls") for one in ("A ball", "An owl")},
        ),
        (
            "story\n  {hero:person.named}: {thing:deed}, {thing.did}\n",
            {
                f"{named}: jam, {who} {what}"
                for named, who in (("boy named Tom", "he"), ("girl named Ann", "she"))
                for what in ("ate it", "spilled a ball", "spilled an owl")
            },
        ),
    ],
)
def test_slots_forms_memory_weights_and_new_lines(rules, wanted):
    grammar = build(WORDS, rules)
    assert {write(grammar, Random(number).random) for number in range(100)} == wanted


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
