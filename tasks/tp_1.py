"""TP-1: which rows each rank learns from."""

from helpers.grade import Task

TASK = Task(
    id="TP-1",
    title="divide the rows among the copies of the model",
    file="TP/data/data_parallel_preprocess.py",
    function="split_data",
    notebook="12",
    points=10,
    minutes=10,
    hints=(
        "Ranks 0 … mp_size-1 hold one copy of the model together, so they need the same rows. "
        "Which copy does a rank belong to? And how many parts are there?",
        "rank // mp_size is the number of the copy, from 0 to dp_size - 1. Each copy gets "
        "len(x_train) // dp_size consecutive rows.",
        "With d = rank // mp_size and n = len(x_train) // dp_size the part is "
        "[d * n : (d + 1) * n], of x_train and of y_train alike.",
    ),
)


def run(module, case):
    """What the work gives each rank, and the data afterwards.

    case: mp_size, dp_size, x and y.
    """
    mp, dp, *data = case
    x, y = (array.copy() for array in data)
    parts = [module.split_data(x, y, mp, dp, rank) for rank in range(mp * dp)]
    return {"the training data": (x, y), "parts": parts}
