"""PZ-P3 as whole programs."""

from helpers.grade.task import Program
from tasks.programs import _pz

PROGRAMS = (
    Program(
        "GPipe",
        _pz.changed(
            "PZ-P3",
            (
                "warm_up = min(stages - rank - 1, len(batches))",
                "warm_up = len(batches)",
            ),
        ),
        says="are enough: after the warm-up each forward is followed by a backward",
    ),
)

RIGHT = {
    "in three loops": _pz.changed(
        "PZ-P3",
        (
            "for number in range(len(batches) + warm_up):\n"
            "    if number < len(batches):\n"
            "        await forward(number)\n"
            "    if number >= warm_up:\n"
            "        await backward(number - warm_up)\n",
            "for number in range(warm_up):\n"
            "    await forward(number)\n"
            "for number in range(warm_up, len(batches)):\n"
            "    await forward(number)\n"
            "    await backward(number - warm_up)\n"
            "for number in range(len(batches) - warm_up, len(batches)):\n"
            "    await backward(number)\n",
        ),
    ),
}
