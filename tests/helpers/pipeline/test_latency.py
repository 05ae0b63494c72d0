"""What a message costs between ranks that sleep."""

import pytest

from helpers.pipeline import message_latency
from helpers.ranks import launch


@pytest.mark.parametrize("ranks", [1, 3])
def test_every_rank_gets_the_same_latency_and_the_sleep_does_not_count(ranks):
    found = launch(message_latency, ranks, args=(0.02, 3), quiet=True)
    assert len(set(found)) == 1
    assert found[0] == 0 if ranks == 1 else 0 < found[0] < 1
