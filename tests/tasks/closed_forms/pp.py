"""Pipelines: tests that compare each script with one device, and its orders with the schedules'."""

import functools

from helpers.grade.judge import the_lab
from helpers.grade.task import load_task, load_whole
from tests.tasks.known import SEEDS

ONE_DEVICE = "tests/PP/test_scripts.py::test_a_pipeline_is_one_device"
ORDERS = "tests/PP/test_schedule_script.py::test_the_orders_of_the_file_are_proven"


@functools.cache
def of_our_own_pipeline():
    """All cases of TW-1, and what the trainer of DP-PP-2 has after their steps, in one launch."""
    task = load_whole(load_task("TW-1"))
    cases = [case for seed in SEEDS for case in task.cases(seed)]
    (seen,) = the_lab().observe(load_task("DP-PP-2"), [{}], cases)
    return cases, seen


def by_our_own_pipeline(case):
    cases, seen = of_our_own_pipeline()
    ranks = seen[cases.index(case)]
    return [{k: v for k, v in rank.items() if k != "not in the trace"} for rank in ranks]


CLOSED_FORMS = {
    "PP-1": ONE_DEVICE,
    "PP-2": ONE_DEVICE,
    "PP-3": ONE_DEVICE,
    "PP-4": ORDERS,
    "PP-5": ORDERS,
    "DP-PP-2": ONE_DEVICE,
    "TW-1": by_our_own_pipeline,
}
