"""Each copy of the model has its own rows; the ranks of one copy have the same."""

import numpy as np
import pytest
from data.data_parallel_preprocess import split_data, split_train

LAYOUTS = [(1, 1), (1, 4), (4, 1), (2, 4), (4, 2), (3, 2)]


def make_data(rows, dtype=np.float32):
    x = np.arange(rows * 3, dtype=dtype).reshape(rows, 3)
    return x, np.arange(rows)[:, None]


@pytest.mark.parametrize(("mp_size", "dp_size"), LAYOUTS)
def test_the_copies_together_have_every_row_once_and_in_order(mp_size, dp_size):
    x, y = make_data(24)
    for mp_idx in range(mp_size):
        parts = [
            split_data(x_train=x, y_train=y, mp_size=mp_size, dp_size=dp_size, rank=rank)
            for rank in range(mp_idx, mp_size * dp_size, mp_size)
        ]
        assert np.array_equal(np.concatenate([part[0] for part in parts]), x)
        assert np.array_equal(np.concatenate([part[1] for part in parts]), y)
        assert {len(part[0]) for part in parts} == {24 // dp_size}


@pytest.mark.parametrize(("mp_size", "dp_size"), LAYOUTS)
def test_the_ranks_of_one_copy_have_the_same_rows(mp_size, dp_size):
    x, y = make_data(24)
    for rank in range(mp_size * dp_size):
        first = rank - rank % mp_size
        mine, its = (split_data(x, y, mp_size, dp_size, r) for r in (rank, first))
        assert np.array_equal(mine[0], its[0]) and np.array_equal(mine[1], its[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_types_and_shapes_stay(dtype):
    x, y = make_data(8, dtype)
    mine = split_data(x, y[:, 0], 2, 2, 3)
    assert mine[0].dtype == dtype and mine[1].dtype == y.dtype and mine[1].shape == (4,)


def test_both_names_are_one_function():
    assert split_train is split_data


@pytest.mark.parametrize(
    ("rows", "rank", "words"),
    [
        (10, 0, "10 rows cannot be divided among 4 copies of the model: take 8 rows"),
        (8, 8, "there is no rank 8: mp_size 2 x dp_size 4 is 8 ranks"),
        (8, -1, "there is no rank -1"),
    ],
)
def test_wrong_input_is_one_sentence(rows, rank, words):
    with pytest.raises(ValueError, match=words):
        split_data(*make_data(rows), 2, 4, rank)


def test_labels_of_another_number_are_refused():
    with pytest.raises(ValueError, match="there are 8 images and 4 labels"):
        split_data(make_data(8)[0], make_data(4)[1], 2, 4, 0)
