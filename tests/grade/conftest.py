"""A small repository with one task, and many wrong solutions on one set of ranks."""

import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from helpers.grade.marks import replace_regions
from helpers.grade.submission import Job, WorkFailed, run_on_ranks
from helpers.grade.task import ROOT, Mistake, Task, load_task

TASK = textwrap.dedent("""
    from helpers.grade import Mistake, Task

    TASK = Task(
        id="T-1",
        title="add one",
        file="lab/work.py",
        function="add_one",
        notebook="01",
        points=4,
        minutes=1,
        hints=("first hint", "second <hint>", "third hint"),
    )


    def work(module, number):
        return module.add_one(number)


    def verify(submission):
        (answer,) = submission.on_ranks(work, 1, submission.seed)
        if answer == submission.seed - 1:
            raise Mistake("one was taken away, not added: look at the sign")
        if answer != submission.seed + 1:
            raise Mistake("this is not the number plus one")
""")

WORK = textwrap.dedent('''
    """Work."""


    def add_one(number):
        """The number plus one."""
        # BEGIN SOLUTION T-1
        added_by_hand = number + 1
        return added_by_hand
        # END SOLUTION
''')


@dataclass(frozen=True)
class Small:
    """A repository in a temporary folder."""

    root: Path

    @property
    def tasks(self) -> Path:
        return self.root / "tasks"

    @property
    def work(self) -> Path:
        return self.root / "lab" / "work.py"

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path


@pytest.fixture
def small(tmp_path) -> Small:
    repository = Small(tmp_path / "repository")
    repository.write("tasks/t_1.py", TASK)
    repository.write("lab/work.py", WORK)
    repository.write("helpers/grade/__init__.py", "")
    return repository


@pytest.fixture
def task(small) -> Task:
    return load_task("T-1", small.tasks).task


@dataclass
class Replay:
    """Stands for a Submission: answers what is known, and notes what is asked beyond that."""

    path: Path
    task_path: Path
    seed: int
    known: list = field(default_factory=list)
    asked: int = 0

    def on_ranks(self, work, ranks, *args):
        self.asked += 1
        if self.asked > len(self.known):
            raise Ask(ranks, Job(str(self.path), str(self.task_path), work.__name__, args))
        answer = self.known[self.asked - 1]
        if isinstance(answer, WorkFailed):
            raise answer
        return answer


class Ask(Exception):
    """A check wants a job to be run."""


def check_many(task_id: str, bodies: list[str], folder: Path) -> list[str]:
    """The verdict on each of many solutions: "" for a pass, else the reason.

    A check is run until it needs ranks; then the jobs of all solutions go to one set of ranks, and
    every check starts again with these answers. It may not be used for what stops or hangs a rank.
    """
    found = load_task(task_id)
    replays = []
    for number, body in enumerate(bodies):
        path = folder / str(number) / Path(found.task.file).name
        path.parent.mkdir(parents=True)
        path.write_text(planted(found.task, body), encoding="utf-8")
        replays.append(Replay(path, found.path, seed=1234 + number))
    verdicts: list[str | None] = [None] * len(bodies)
    while None in verdicts:
        asks = {}
        for number, replay in enumerate(replays):
            if verdicts[number] is None:
                replay.asked = 0
                try:
                    found.verify(replay)
                    verdicts[number] = ""
                except (Mistake, WorkFailed) as wrong:
                    verdicts[number] = str(wrong)
                except Ask as ask:
                    asks.setdefault(ask.args[0], []).append((replay, ask.args[1]))
        for ranks, asked in asks.items():
            for (replay, _), answer in zip(
                asked, run_together([job for _, job in asked], ranks), strict=True
            ):
                replay.known.append(answer)
    return verdicts


def planted(task: Task, body: str) -> str:
    """The text of the task's file with another body in the place of its solution."""
    path = ROOT / task.file
    text = path.read_text(encoding="utf-8")
    new = replace_regions(
        text, lambda region: body if region.task == task.id else region.body, str(path)
    )
    assert new != text
    return new


def run_together(jobs: list[Job], ranks: int) -> list:
    """For each job the results of all ranks, or how it failed."""

    def run_each():
        answers = []
        for job in jobs:
            try:
                answers.append((job.run(), ""))
            except Exception as error:
                answers.append((None, f"{type(error).__name__}: {error}"))
        return answers

    by_rank = run_on_ranks(run_each, ranks, seconds=60)
    together = []
    for answers in zip(*by_rank, strict=True):
        errors = [f"rank {rank} failed first: {e}" for rank, (_, e) in enumerate(answers) if e]
        failed = WorkFailed("crash", errors[0]) if errors else None
        together.append(failed or [value for value, _ in answers])
    return together


@pytest.fixture
def plant():
    return planted


@pytest.fixture
def many(tmp_path):
    return lambda task_id, bodies: check_many(task_id, bodies, tmp_path / "many")
