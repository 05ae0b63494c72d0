"""What ranks tell each other before they are a group, where not all is as it should be."""

import pickle

import pytest
import torch.distributed as dist

from helpers.hang.notes import Notes, text
from helpers.ranks import ConnectError, Place
from helpers.ranks.agree import check_ranks_agree


def refusal(store, rank: int = 0, key: str = "ours") -> str:
    with pytest.raises(ConnectError) as caught:
        check_ranks_agree(Notes(store, key), Place(rank, 2, rank, 2), "gloo", timeout=0.1)
    return str(caught.value)


def test_a_rank_that_never_comes_is_named_for_all():
    store = dist.HashStore()
    sentence = refusal(store)
    assert sentence == "after 0 s rank 1 did not come"
    assert Notes(store, "ours").look(["mistake"], text) == [sentence]  # a late rank reads it


def test_a_rank_without_the_key_is_told_how_to_set_it():
    store = dist.HashStore()
    Notes(store, "another").leave("came/1", "abc")
    sentence = refusal(store)
    assert "rank 1 came without the LAB_KEY of rank 0" in sentence and "set LAB_KEY" in sentence


def test_what_a_stranger_has_written_neither_stops_nor_misleads_a_rank():
    store = dist.HashStore()
    for name in ("terms", "came/0", "mistake"):
        for note in (b"", b"{}", b"3 nccl 1", pickle.dumps(print), b"\xff" * 100):
            store.set(name, note)
    Notes(store, "another").leave("terms", [3, "nccl", 1])
    Notes(store, "another").leave("mistake", "stop")
    Notes(store, "ours").leave("came/1", "abc")
    check_ranks_agree(Notes(store, "ours"), Place(0, 2, 0, 2), "gloo", timeout=30)


def test_the_same_rank_twice():
    store = dist.HashStore()
    Notes(store, "ours").leave("came/0", "abc")
    assert refusal(store).startswith("rank 0 was started twice")
