from math import exp

import pytest

from simplellm.stories import entropy, floor, stories
from simplellm.tokenizers import SPTokenizer


class Letters:
    """One token a character."""

    def encode(self, text):
        return list(text.encode())


def test_floor_is_entropy_over_tokens():
    letters = Letters()
    found = floor(letters, sample=50)
    stream = stories(split="validation")
    mean = sum(len(next(stream).encode()) + 1 for _ in range(50)) / 50
    assert found.nats_per_story == entropy()
    assert found.tokens_per_story == pytest.approx(mean)
    assert found.nats_per_token == pytest.approx(entropy() / mean)
    assert found.sample == 50 and found.perplexity == pytest.approx(exp(found.nats_per_token))
    assert floor(letters, sample=50) is found  # remembered


def test_the_shipped_tokenizers():
    big, small = (floor(SPTokenizer(name)) for name in ("stories-4096", "stories-1024"))
    assert 0.3 < small.nats_per_token < big.nats_per_token < 0.7
    assert big.standard_error < 0.01
    assert "nats a token" in str(big)
