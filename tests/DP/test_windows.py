"""Which window is read when: once in each epoch, the same on any number of ranks; and the mask."""

from collections import Counter

import pytest
import torch
from windows import document_mask, documents_of, places_of

COUNT, BATCH = 50, 8  # a batch that doesn't divide an epoch


def batch(step, ranks):
    return {rank: places_of(step, rank, ranks, BATCH, COUNT) for rank in range(ranks)}


def test_each_epoch_reads_each_window_once_in_an_order_of_its_own():
    read = [place for step in range(25) for place in batch(step, 1)[0]]
    first, second = read[:COUNT], read[COUNT : 2 * COUNT]
    assert sorted(first) == sorted(second) == list(range(COUNT)) and first != second
    assert set(Counter(read).values()) == {25 * BATCH // COUNT}


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_the_batch_of_a_step_does_not_depend_on_the_number_of_ranks(ranks):
    for step in range(13):
        parts = batch(step, ranks)
        assert {len(part) for part in parts.values()} == {BATCH // ranks}
        assert Counter(sum(parts.values(), [])) == Counter(batch(step, 1)[0])


def test_a_token_that_ends_a_document_belongs_to_it():
    ids = torch.tensor([5, 9, 6, 7, 9, 9, 8])
    assert documents_of(ids, end=9).tolist() == [0, 0, 1, 1, 1, 2, 3]


def test_a_token_sees_what_came_before_in_its_own_document():
    mask = document_mask(torch.tensor([0, 0, 1, 1]))
    assert mask.long().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]
