"""PF-3: a file format that workers can read."""

import random

from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="PF-3",
    title="open a data file once in each process that reads it",
    file="DP/ddp/inputs.py",
    function="FromFile.handle",
    notebook="13",
    points=10,
    minutes=15,
    hints=(
        "A worker that was forked has a copy of every object of its rank, the open file too. How "
        "can it know that it was not the one who opened it?",
        "Compare self.owner with the number of this process. If they differ, the file, if "
        "there is one, belongs to another process.",
        "If self.owner != os.getpid(): call self.open_file(), keep what it returns in self.file, "
        "and keep the number of this process in self.owner. In any case return self.file.",
    ),
)


def files_of(seed):
    """The numbers of the files that are opened, in order; nobody can know them before."""
    return random.Random(seed).sample(range(10**6, 10**9), 9)


def work(module, seed):
    """Which file each call gave, and how often one was opened, in a rank and in a forked worker.

    That a file was opened can only be seen here; whether it is the one that was given, outside.
    """
    import os

    numbers, opened = files_of(seed), []

    class Counted(module.FromFile):
        def open_file(self):
            opened.append(numbers[len(opened)])
            return {"number": opened[-1]}

    data = Counted("a file that is not there", 4)
    seen = [("made", None, len(opened))]
    real = os.getpid
    try:
        # A fork leaves the object as it is, and changes the number of the process.
        for who, number in (("rank", real()), ("worker", real() + 1)):
            os.getpid = lambda number=number: number
            for _ in range(3):
                file = data.handle()
                given = file.get("number") if isinstance(file, dict) else repr(file)
                seen.append((who, given, len(opened)))
    finally:
        os.getpid = real
    return seen


def verify(submission: Submission) -> None:
    """Raises Mistake or WorkFailed."""
    (seen,) = submission.on_ranks(work, 1, submission.seed)
    files = files_of(submission.seed)
    rank, worker = seen[1:4], seen[4:]
    for who, given, _ in seen[1:]:
        if not isinstance(given, int):
            raise Mistake(f"handle() gives {given} in the {who}, and must give the open file")
    if rank[2][2] > 1:
        raise Mistake(
            f"the file is opened {rank[2][2]} times for 3 items in one process: keep it in "
            "self.file, and whose it is in self.owner"
        )
    if worker[0][1] == rank[0][1]:
        raise Mistake(
            "a worker that was forked reads from the file that its rank has opened: it must open "
            "one of its own, where self.owner is not os.getpid()"
        )
    if worker[2][2] > 2:
        raise Mistake("a worker opens the file again for each item: does self.owner change too?")
    if len({given for _, given, _ in rank}) > 1 or len({given for _, given, _ in worker}) > 1:
        raise Mistake("handle() gives another file the second time: give self.file")
    if (rank[0][1:], worker[0][1:]) != ((files[0], 1), (files[1], 2)):
        raise Mistake("handle() gives a file that open_file() has not opened: give self.file")
