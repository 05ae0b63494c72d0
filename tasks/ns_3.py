"""NS-3: how often to save, and what it costs."""

import random

from helpers.grade import Task

TASK = Task(
    title="find the interval between checkpoints, and what is lost",
    file="DP/never_stops/rules.py",
    function="checkpoint_interval",
    lesson="training_never_stops",
    minutes=10,
    hints=(
        "Write the lost share as a function of the interval t. One part falls with t, the other "
        "one grows. A failure comes somewhere in an interval: how much of it is lost on average?",
        "The share is C / t + t / (2 M). Its derivative is -C / t^2 + 1 / (2 M).",
        "t = sqrt(2 C M), and at that t both parts are equal. Return (t, C / t + t / (2 M)).",
    ),
)


def observe(module, case):
    """Return the two numbers that the work returns."""
    answer = module.checkpoint_interval(case["save"], case["between"])
    if isinstance(answer, tuple | list) and len(answer) == 2:
        return {"seconds": answer[0], "share": answer[1]}
    return repr(answer)[:60]


TOLERANCE = 1e-6


def cases(seed):
    """The lesson's numbers, and two drawn ones."""
    draw = random.Random(seed)
    drawn = [{"save": draw.uniform(1, 90), "between": draw.uniform(2e3, 2e5)} for _ in range(2)]
    return [{"save": 30.0, "between": 11_160.0}, *drawn]


MUTANTS = {
    ("2 * save * between", "save * between"): "the 2 is missing under the root: a failure costs "
    "half an interval on average, not all of it",
    ("save / every + every / (2 * between)", "save / every"): "the interval is right, and the "
    "share holds only the saves: each failure costs half an interval too",
    ("every / (2 * between)", "every / between"): "the interval is right, and the share charges a "
    "whole interval for each failure",
    (
        "save / every + every / (2 * between)",
        "100 * (save / every + every / (2 * between))",
    ): "the interval is right, and the share is in percent: return 0.07 for 7 %",
    ("math.sqrt(2 * save * between)", "2 * save * between"): "the root is missing: the interval is "
    "the root of 2 C M",
    ("every / (2 * between)", "between / (2 * every)"): "a failure is charged half of `between` "
    "instead of half an interval",
}
