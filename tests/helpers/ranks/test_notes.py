"""What ranks tell each other before they are a group, where one of them ends in between."""

import importlib

import pytest
import torch.distributed as dist

from helpers.ranks.backend import Choice
from helpers.ranks.place import Place

connect = importlib.import_module("helpers.ranks.connect")  # there is a function of that name
GLOO = Choice("gloo", "as asked")


@pytest.mark.parametrize(
    ("came", "sentence"),
    [
        (0, "after 0 s rank 1 did not come"),
        (1, "after 0 s all ranks had come and one has ended: see what it said"),
    ],
    ids=["never", "ended-before-it-was-counted"],
)
def test_a_wait_in_vain_ends_with_a_sentence_for_all(monkeypatch, came, sentence):
    monkeypatch.setattr(connect, "LINGER_S", 0.2)
    store = dist.HashStore()
    if came:
        store.add("came/1", 1)
    with pytest.raises(connect.ConnectError) as caught:
        connect._compare_notes(store, Place(0, 2, 0, 2), GLOO, timeout=0.1)
    assert str(caught.value) == sentence
    assert store.get("mistake").decode() == sentence  # a late rank reads it
