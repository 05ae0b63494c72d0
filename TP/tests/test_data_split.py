"""Each copy of the model has its own rows; the ranks of one copy have the same."""

import numpy as np
import pytest
from data.data_parallel_preprocess import split_data


def make_data(rows, dtype=np.float32):
    x = np.arange(rows * 3, dtype=dtype).reshape(rows, 3)
    return x, np.arange(rows)[:, None]


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
@pytest.mark.parametrize(("mp_size", "dp_size"), [(1, 1), (1, 4), (4, 1), (2, 4), (4, 2), (3, 2)])
def test_a_copy_has_its_rows_in_order_and_all_its_ranks_have_them(mp_size, dp_size, dtype):
    x, y = make_data(24, dtype)
    part = 24 // dp_size
    for rank in range(mp_size * dp_size):
        mine = split_data(x_train=x, y_train=y, mp_size=mp_size, dp_size=dp_size, rank=rank)
        rows = slice(rank // mp_size * part, (rank // mp_size + 1) * part)
        for found, whole in zip(mine, (x, y), strict=True):
            assert np.array_equal(found, whole[rows]) and found.dtype == whole.dtype


@pytest.mark.parametrize(
    ("rows", "labels", "rank", "words"),
    [
        (10, 10, 0, "10 rows cannot be divided among 4 copies of the model: take 8 rows"),
        (8, 8, 8, "there is no rank 8: mp_size 2 x dp_size 4 is 8 ranks"),
        (8, 8, -1, "there is no rank -1"),
        (8, 4, 0, "there are 8 images and 4 labels"),
    ],
)
def test_wrong_input_is_one_sentence(rows, labels, rank, words):
    with pytest.raises(ValueError, match=words):
        split_data(make_data(rows)[0], make_data(labels)[1], 2, 4, rank)
