"""PF-3: a file format that workers can read."""

import os

from helpers.grade import Task

TASK = Task(
    id="PF-3",
    title="open a data file once in each process that reads it",
    file="DP/ddp/inputs.py",
    function="FromFile.handle",
    notebook="10",
    points=10,
    minutes=15,
    hints=(
        "A worker that was forked has a copy of every object of its rank, including the open file. "
        "How can it know that it was not the one who opened it?",
        "Compare self.owner with the number of this process. If they differ, the file, if "
        "there is one, belongs to another process.",
        "If self.owner != os.getpid(): call self.open_file(), keep what it returns in self.file, "
        "and keep the number of this process in self.owner. In any case return self.file.",
    ),
)


def run(module, case):
    """Which file each call gave, and how often one was opened: in a rank, and in a forked worker.

    case: the numbers of the files that are opened, in order; nobody can know them before.
    """
    opened, real = [], os.getpid

    class Counted(module.FromFile):
        def open_file(self):
            opened.append(case[len(opened)])
            return {"number": opened[-1]}

    data, seen = Counted("a file that is not there", 4), {}
    names = [name for name, value in vars(module).items() if value is real]  # from os import getpid
    try:
        # A fork leaves the object as it is, and changes the number of the process.
        for who, number in (("rank", real()), ("worker", real() + 1)):
            os.getpid, seen[who] = (lambda number=number: number), []
            vars(module).update(dict.fromkeys(names, os.getpid))
            for _ in range(3):
                file = data.handle()
                given = file.get("number") if isinstance(file, dict) else repr(file)
                seen[who].append([given, len(opened)])
    finally:
        os.getpid = real
    return seen
