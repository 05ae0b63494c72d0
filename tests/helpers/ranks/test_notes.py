"""What ranks tell each other before they are a group, where not all is as it should be."""

import pytest
import torch.distributed as dist

from helpers.ranks import ConnectError, Place
from helpers.ranks.connect import agree

pytestmark = pytest.mark.ranks


def refusal(store, rank: int = 0) -> str:
    with pytest.raises(ConnectError) as caught:
        agree(store, Place(rank, 2, rank, 2), "gloo", timeout=0.1)
    return str(caught.value)


def test_a_rank_that_never_comes_is_named_for_all():
    store = dist.HashStore()
    sentence = refusal(store)
    assert sentence == "after 0 s rank 1 did not come"
    assert store.get("mistake").decode() == sentence  # a late rank reads it


def test_the_same_rank_twice():
    store = dist.HashStore()
    store.set("came/0", "abc")
    assert refusal(store).startswith("rank 0 was started twice")


def test_ranks_that_want_two_backends():
    store = dist.HashStore()
    store.set("terms", "2 nccl 1")
    assert refusal(store) == (
        "the ranks disagree about the backend: rank 1 takes nccl and rank 0 takes gloo; name one "
        "for all with --backend"
    )
