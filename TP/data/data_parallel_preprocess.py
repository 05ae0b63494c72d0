"""Which rows of the training data each rank learns from."""

import numpy as np


def split_data(
    x_train: np.ndarray, y_train: np.ndarray, mp_size: int, dp_size: int, rank: int
) -> tuple[np.ndarray, np.ndarray]:
    """The rows of one rank: a contiguous part of the data, in its order.

    x_train: (N, features). y_train: its labels, (N,) or (N, 1). N is a multiple of dp_size.
    mp_size: ranks that share the layers of one copy of the model. dp_size: copies of the model.
    rank: 0 to mp_size * dp_size - 1. Ranks 0 … mp_size-1 hold the first copy, and so on.

    The ranks of one copy work on the same rows. Copy d gets part d of dp_size equal parts.
    Gives (x, y), with the types of the arrays that came in.

    Raises ValueError where dp_size does not divide N, and for a rank that is not there.
    """
    _require(len(x_train), len(y_train), mp_size, dp_size, rank)
    copy_index = rank // mp_size
    rows = len(x_train) // dp_size
    mine = slice(copy_index * rows, (copy_index + 1) * rows)
    return x_train[mine], y_train[mine]


split_train = split_data  # the name in the text of the course


def _require(rows: int, labels: int, mp_size: int, dp_size: int, rank: int) -> None:
    if rows != labels:
        raise ValueError(f"there are {rows} images and {labels} labels: give one label each")
    if not 0 <= rank < mp_size * dp_size:
        raise ValueError(
            f"there is no rank {rank}: mp_size {mp_size} x dp_size {dp_size} is "
            f"{mp_size * dp_size} ranks, counted from 0"
        )
    if rows % dp_size:
        raise ValueError(
            f"{rows} rows cannot be divided among {dp_size} copies of the model: take "
            f"{rows - rows % dp_size} rows, or a dp_size that divides {rows}"
        )
