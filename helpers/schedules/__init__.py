"""Pipeline schedules as data: who computes what, in which order.

    schedule = check(one_f_one_b(stages=4, micro_batches=8))
    print(schedule)                  a line for each rank: F0 F1 F2 F3 B0 ...
    parse("rank 0: F0 B0 ...")       the same, written by hand; F1&B0 is a pair, one action
    missing(action, stages, done)    what an action still waits for: the rule of a pipeline
    SCHEDULES["ZB-V"].made(4, 8)     by name; `python -m helpers.schedules` lists the names

A schedule is run by the executor, simulated by `helpers.simulate`, and drawn from either's trace.
To add a schedule, write a function like those in `builders` under `@named`: scripts, sliders, the
search, the game and the tests find it in `SCHEDULES`.
"""

from helpers.schedules.builders import *  # noqa: F403  all builders: a new one is here at once
from helpers.schedules.check import BadSchedule, check, find_problem
from helpers.schedules.formats import from_csv, load_csv, save_csv, to_csv
from helpers.schedules.registry import SCHEDULES, named
from helpers.schedules.rule import (
    Message,
    in_flight,
    messages,
    missing,
    needed_stage,
    needs,
    source_of,
    tag_of,
    target_of,
    user_of,
)
from helpers.schedules.schedule import KINDS, Action, Schedule, facts_of, pair_text, parse, to_text
from helpers.schedules.walk import Times, walk
