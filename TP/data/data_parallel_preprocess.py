"""Which rows of the training data each rank learns from."""


def split_data(x_train, y_train, mp_size, dp_size, rank):
    """Return the rows of one rank, (x, y): a contiguous part of the data, in its order.

    x_train: (N, features). y_train: its labels, (N,) or (N, 1). N is a multiple of dp_size.
    mp_size: ranks that share the layers of one copy of the model. dp_size: copies of the model.
    rank: 0 to mp_size * dp_size - 1. Ranks 0 … mp_size-1 hold the first copy, and so on.

    The ranks of one copy work on the same rows. Copy d gets part d of dp_size equal parts.

    Raises ValueError where dp_size does not divide N, and for a rank that is not there.
    """
    rows, ranks = len(x_train), mp_size * dp_size
    if rows != len(y_train):
        raise ValueError(f"there are {rows} images and {len(y_train)} labels: give one label each")
    if not 0 <= rank < ranks:
        grid = f"mp_size {mp_size} x dp_size {dp_size} is {ranks} ranks, counted from 0"
        raise ValueError(f"there is no rank {rank}: {grid}")
    if rows % dp_size:
        cut = f"{rows} rows cannot be divided among {dp_size} copies of the model"
        told = f"take {rows - rows % dp_size} rows, or a dp_size that divides {rows}"
        raise ValueError(f"{cut}: {told}")
    part = rows // dp_size
    mine = slice(rank // mp_size * part, (rank // mp_size + 1) * part)
    return x_train[mine], y_train[mine]


split_train = split_data  # the name in the text of the course
