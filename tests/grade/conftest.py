"""A small repository with one task, and many wrong solutions on one set of ranks."""

import importlib
import json
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from helpers.grade.marks import replace_regions
from helpers.grade.parcel import pack, unpack
from helpers.grade.run import grade
from helpers.grade.submission import WorkFailed
from helpers.grade.task import ROOT, Mistake, Task, load_task
from helpers.grade.workshop import Job
from helpers.ranks import launch

AT_ONCE = 4  # checks

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


@pytest.fixture(autouse=True)
def no_record(monkeypatch):
    """What tests grade is nobody's progress."""
    monkeypatch.setenv("LAB_PROGRESS", "off")


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


def load_cluster_submission():
    """The puzzles' own way to run a step in another process."""
    sys.path.insert(0, str(ROOT / "puzzles"))
    try:
        for name in ("lib", "utils"):
            importlib.import_module(name)  # what a step imports; nothing else of that folder
        return importlib.import_module("cluster.submission")
    finally:
        sys.path.remove(str(ROOT / "puzzles"))


def served_here(path, function, cases, seconds):
    """What `cluster.submission.ask` gives, without a process of its own for each step."""
    cases = json.loads(json.dumps(cases))  # as they travel
    return load_cluster_submission().serve(path, function, cases, seconds)


@dataclass
class Replay:
    """Stands for a Submission: answers what is known, and notes what is asked beyond that."""

    path: Path
    task_path: Path
    seed: int
    deadline: float = field(default_factory=lambda: time.monotonic() + 600)
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

    def apart(self, function, *args):
        """In this process: what is planted is our own, and its time is watched here too."""
        runs = load_cluster_submission()
        ask, runs.ask = runs.ask, served_here
        try:
            return unpack(pack(function(str(self.path), *args)))
        finally:
            runs.ask = ask


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
                answers.append((pack(job.run()), ""))
            except Exception as error:
                answers.append((None, f"{type(error).__name__}: {error}"))
        return answers

    by_rank = launch(run_each, ranks, timeout=500, quiet=True)
    together = []
    for answers in zip(*by_rank, strict=True):
        errors = [f"rank {rank} failed first: {e}" for rank, (_, e) in enumerate(answers) if e]
        failed = WorkFailed("crash", errors[0]) if errors else None
        together.append(failed or [unpack(value) for value, _ in answers])
    return together


@pytest.fixture(scope="session")
def ahead(request, tmp_path_factory):
    """Grade what the chosen tests will ask for, several at once, before they ask.

    Most of such a check is waiting: for ranks to start, and to be seen to stand still.
    """
    root = tmp_path_factory.mktemp("alone")
    asked = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for item in request.session.items:
            given = getattr(item, "callspec", None)
            if "ahead" in item.fixturenames and given:
                task_id, mistake = given.params["task_id"], given.params.get("mistake")
                key = (task_id, mistake and mistake.name)
                folder = root / str(len(asked)) if mistake else None
                body = mistake and mistake.body
                asked[key] = pool.submit(grade_planted, task_id, body, folder)
        yield lambda task_id, mistake=None: asked[task_id, mistake and mistake.name].result()
        pool.shutdown(cancel_futures=True)


@pytest.fixture
def each(tmp_path):
    """As `many`, each on ranks of its own: for work that imports what takes seconds, which the
    grader does once for all."""

    def check_each(task_id: str, bodies: list[str]) -> list[str]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            folders = [tmp_path / str(number) for number in range(len(bodies))]
            found = list(pool.map(grade_planted, [task_id] * len(bodies), bodies, folders))
        return ["" if verdict.passed else verdict.reason for verdict in found]

    return check_each


def grade_planted(task_id: str, body: str | None, folder: Path | None):
    """The verdict on the solution, or on a file with another body in its place."""
    if body is not None:
        task = load_task(task_id).task
        path = folder / task.file
        path.parent.mkdir(parents=True)
        path.write_text(planted(task, body), encoding="utf-8")
    return grade(task_id, folder)


@pytest.fixture
def many(tmp_path):
    return lambda task_id, bodies: check_many(task_id, bodies, tmp_path / "many")
