"""Wrong ways to do TP-1, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def cut(index="rank // mp_size", parts="dp_size", give="x_train[mine], y_train[mine]"):
    return f"""
        n = len(x_train) // ({parts})
        mine = slice(({index}) * n, ({index} + 1) * n)
        return {give}
        """


MISTAKES = (
    PlantedMistake("all rows", "return x_train, y_train", says="every rank gets all rows"),
    PlantedMistake(
        "a part for each rank",
        cut("rank", "mp_size * dp_size"),
        says="each rank gets rows of its own, and the ranks of one copy need the same",
    ),
    PlantedMistake(
        "data-parallel major",
        cut("rank % dp_size"),
        says="the copy of a rank is rank // mp_size",
    ),
    PlantedMistake(
        "every n-th row",
        "rows = slice(rank // mp_size, None, dp_size)\nreturn x_train[rows], y_train[rows]",
        says="each copy gets every dp_size-th row, and it must get rows that follow",
    ),
    PlantedMistake(
        "labels whole",
        cut(give="x_train[mine], y_train"),
        says="y is wrong and the other is right: cut both alike",
    ),
    PlantedMistake(
        "x alone", cut(give="x_train[mine]"), says="give two arrays, x and y; this is an array"
    ),
    PlantedMistake("no return", cut(give="None"), says="this is nothing: end the function with"),
    PlantedMistake(
        "another type",
        cut(give="x_train[mine].astype('float64'), y_train[mine]"),
        says="x is wrong and the other is right",
    ),
    PlantedMistake(
        "shuffled in place",
        "np.random.shuffle(x_train)\n" + cut().strip().replace("        ", ""),
        says="the training data has changed",
    ),
    PlantedMistake(
        "divided by mp_size",
        cut("rank // dp_size", "mp_size"),
        says="there are dp_size parts, and these are parts of mp_size",
    ),
)

ALSO_RIGHT = {
    "split": """
        part = rank // mp_size
        return np.split(x_train, dp_size)[part], np.split(y_train, dp_size)[part]
        """,
    "a grid": """
        rows = np.arange(len(x_train)).reshape(dp_size, -1)[rank // mp_size]
        return x_train[rows], y_train[rows]
        """,
}
