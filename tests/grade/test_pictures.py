"""Ranks that wait for each other: the verdict shows who waits for whom."""

from helpers.grade.run import grade

TASK = """
from helpers.grade import Task

TASK = Task("T-1", "add one", "lab/work.py", "add_one", "01", 1, 1, ("a", "b", "c"))


def work(module):
    return module.add_one(1)


def verify(submission):
    submission.on_ranks(work, 2)
"""
DEADLOCK = """
import torch
import torch.distributed as dist


def add_one(number):
    dist.send(torch.ones(4), 1 - dist.get_rank())
    return number
"""


def test_a_deadlock_in_words_and_as_a_picture(small):
    small.write("tasks/t_1.py", TASK)
    small.write("lab/work.py", DEADLOCK)
    found = grade("T-1", small.root, folder=small.tasks)
    assert (found.kind, found.passed) == ("time-out", False)
    assert "deadlock: ranks 0 and 1 both send first" in found.reason
    assert "at line 7 of work.py" in found.details or "line 7" in found.details
    svg, words = found.picture
    assert svg.lstrip().startswith("<") and "</svg>" in svg and words
    html = found._repr_html_()
    assert '<img alt="' in html and "<svg" not in html  # an image, in which no script can run
