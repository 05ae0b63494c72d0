import hashlib
import os
import subprocess
import sys
from itertools import islice

import pytest

from simplellm.stories import stories, story


def test_story_is_a_pure_function_with_random_access():
    wanted = list(islice(stories(seed=2), 20))
    assert [story(number, seed=2) for number in reversed(range(20))] == wanted[::-1]


def test_it_is_the_same_in_another_process_with_another_hash_seed():
    code = "from simplellm.stories import story; print(''.join(story(i) for i in range(5)))"
    out = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert out.strip("\n") == "".join(story(i) for i in range(5))


def test_it_is_the_same_on_every_machine():
    # If the grammar was changed on purpose: run `python -m simplellm.train_tokenizer` as well, and
    # write the new beginning here.
    text = "".join(islice(stories(), 100)) + "".join(islice(stories(split="validation"), 100))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "ee37bfcec46471e7"


def test_skip_leaves_out_stories_of_this_ranks_part():
    assert next(stories(skip=3000)) == story(3000)
    assert next(stories(rank=1, world_size=3, skip=10)) == story(31)


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
