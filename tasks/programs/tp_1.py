"""TP-1: wrong and right work, as programs."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "a part for each rank",
        """
        n = len(x_train) // (mp_size * dp_size)
        mine = slice((rank) * n, (rank + 1) * n)
        return x_train[mine], y_train[mine]
        """,
        says="each rank gets rows of its own, and the ranks of one copy need the same",
    ),
    Program(
        "data-parallel major",
        """
        n = len(x_train) // (dp_size)
        mine = slice((rank % dp_size) * n, (rank % dp_size + 1) * n)
        return x_train[mine], y_train[mine]
        """,
        says="the copy of a rank is rank // mp_size",
    ),
)

RIGHT = {
    "split": """
        part = rank // mp_size
        return np.split(x_train, dp_size)[part], np.split(y_train, dp_size)[part]
        """,
    "a grid": """
        rows = np.arange(len(x_train)).reshape(dp_size, -1)[rank // mp_size]
        return x_train[rows], y_train[rows]
        """,
}
