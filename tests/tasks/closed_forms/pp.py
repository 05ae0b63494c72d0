"""Pipelines: tests that compare each script with one device, and its orders with the schedules'."""

from helpers.grade.judge import the_lab
from helpers.grade.task import load_task

ONE_DEVICE = "tests/PP/test_scripts.py::test_a_pipeline_is_one_device"


def by_our_own_pipeline(case):
    """What the trainer of DP-PP-2 has after the same steps."""
    ((ranks,),) = the_lab().observe(load_task("DP-PP-2"), [{}], [case])
    return [{k: v for k, v in rank.items() if k != "not in the trace"} for rank in ranks]


CLOSED_FORMS = {
    "PP-1": ONE_DEVICE,
    "PP-2": ONE_DEVICE,
    "PP-3": ONE_DEVICE,
    "PP-4": "tests/PP/test_schedule_script.py::test_the_orders_of_the_file_are_proven",
    "DP-PP-2": ONE_DEVICE,
    "TW-1": by_our_own_pipeline,
}
