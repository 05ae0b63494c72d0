"""Pipelines: tests that compare each script with one device, and its orders with the schedules'."""

import functools

from helpers.check.judge import RIGHT, launched, solution_text
from helpers.check.task import ROOT, load_task
from tests.tasks.known import SEEDS

ONE_DEVICE = "tests/test_parity.py::test_a_script_is_one_device"
ORDERS = "tests/PP/test_scripts.py::test_the_orders_of_the_file_are_proven"


@functools.cache
def of_our_own_pipeline():
    """All cases of TW-1, and what the trainer of DP-PP-2 has after their steps, in one launch."""
    cases = [case for seed in SEEDS for case in load_task("TW-1").side.cases(seed)]
    task = load_task("DP-PP-2")
    seen, _ = launched(task, {RIGHT: (str(ROOT), solution_text(task))}, cases)
    return cases, seen[RIGHT]


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
