"""PF-3: a file is opened once in each process; and what comes out where it isn't."""

import random


def cases(seed):
    """The numbers of the files, in the order in which they are opened."""
    return [random.Random(seed).sample(range(10**6, 10**9), 9)]


def calls(case, *files):
    """[file, how many have been opened] of three calls in the rank, and of three in the worker."""
    seen = [[case[file], max(files[: n + 1]) + 1] for n, file in enumerate(files)]
    return {"rank": seen[:3], "worker": seen[3:]}


def truth(case):
    return calls(case, 0, 0, 0, 1, 1, 1)


MISTAKES = {
    "the file is opened 3 times for 3 items in one process: keep it in self.file, and whose it is "
    "in self.owner": lambda case: calls(case, 0, 1, 2, 3, 4, 5),
    "a worker that was forked reads from the file that its rank has opened: it must open one of "
    "its own, where self.owner is not os.getpid()": lambda case: calls(case, 0, 0, 0, 0, 0, 0),
    "a worker opens the file again for each item: does self.owner change too?": lambda case: calls(
        case, 0, 0, 0, 1, 2, 3
    ),
}


def explain(case, seen):
    for who, found in seen.items():
        wrong = next((file for file, _ in found if not isinstance(file, int)), None)
        if wrong is not None:
            return f"handle() gives {wrong} in the {who}, and must give the open file"
    if any(len({file for file, _ in found}) > 1 for found in seen.values()):
        return "handle() gives another file the second time: give self.file"
    return "handle() gives a file that open_file() has not opened: give self.file"
