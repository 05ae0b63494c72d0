"""PF-3: open a data file once in each process that reads it."""

import os
import random

HINTS = (
    "A worker that was forked has a copy of every object of its rank, including the open file. "
    "How can it know that it was not the one who opened it?",
    "If self.owner != os.getpid(): call self.open_file(), keep what it returns in self.file, and "
    "keep the number of this process in self.owner. In any case return self.file.",
)
LESSON, MINUTES = "where_time_goes", 15
PAGE = "DP/ddp/README.md"


def observe(module, case):
    """Which file each call gave, and how often one was opened: in a rank, and in a forked worker.

    case: the numbers of the files that are opened, in order.
    """
    opened, real = [], os.getpid

    class Counted(module.FromFile):
        def open_file(self):
            opened.append(case[len(opened)])
            return {"number": opened[-1]}

    def which(file):
        if not (isinstance(file, dict) and file.get("number") in opened):
            return f"{file!r:.40}, and no open file,"
        return f"file {opened.index(file['number']) + 1}"

    data, seen = Counted("a file that is not there", 4), {}
    names = [name for name, value in vars(module).items() if value is real]  # from os import getpid
    try:
        # A fork leaves the object as it is, and changes the number of the process.
        for who, number in (("rank", real()), ("worker", real() + 1)):
            os.getpid, seen[who] = (lambda number=number: number), {}
            vars(module).update(dict.fromkeys(names, os.getpid))
            for n in range(3):
                seen[who][f"item {n}"] = f"{which(data.handle())} of {len(opened)} opened"
    finally:
        os.getpid = real
    return seen


def cases():
    return [random.sample(range(10**6, 10**9), 9)]


MUTANTS = {
    ("self.owner != os.getpid()", "True"): "the file is opened 3 times for 3 items in one process: "
    "keep it in self.file, and whose it is in self.owner",
    ("self.owner != os.getpid()", "self.file is None"): "a worker that was forked reads from the "
    "file that its rank has opened: it must open one of its own, where self.owner is not "
    "os.getpid()",
    (", os.getpid()", ", self.owner or os.getpid()"): "a worker opens the file again for each "
    "item: does self.owner change too?",
}
