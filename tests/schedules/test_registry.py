"""The registry: a builder under `named` is in every list that offers or tries all schedules."""

import re
from pathlib import Path

import pytest

from helpers.schedules import SCHEDULES, Schedule, gpipe, named
from helpers.schedules.__main__ import main
from helpers.search import rivals, search
from helpers.timeline import explore
from helpers.timeline.sliders import START, controls

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def backwards():
    """A schedule that is like no other: GPipe, whose last micro-batch comes back first."""

    @named("backwards", paper="0000.00000")
    def build(stages: int, micro_batches: int) -> Schedule:
        ranks = gpipe(stages, micro_batches).ranks
        rows = [row[:micro_batches] + row[: micro_batches - 1 : -1] for row in ranks]
        return Schedule("backwards", rows, range(stages), micro_batches)

    yield SCHEDULES["backwards"]
    del SCHEDULES["backwards"]


def test_a_new_schedule_is_searched_explored_and_listed(backwards, capsys):
    schedule = backwards.made(3, 4)
    assert schedule in [*rivals(range(3), 4)]
    assert "backwards" in [done.schedule.name for done in search(3, 4, walks=1).rivals]
    assert explore(schedule="backwards", ranks=3).title.startswith("backwards: 3 ranks")
    main(["3", "4"])
    assert re.search(r"^backwards +1 +4  0000.00000$", capsys.readouterr().out, re.M)


def test_chunks_are_offered_and_taken_where_a_builder_takes_them(backwards):
    assert not backwards.chunked and backwards.made(2, 3, chunks=5).stages == 2
    assert SCHEDULES["breadth-first"].made(2, 3, chunks=5).stages == 10
    offered = {control["name"]: control for control in controls(START)}
    assert offered["schedule"]["values"] == list(SCHEDULES)
    assert offered["chunks"]["only"] == ["interleaved 1F1B", "breadth-first"]


def test_sizes_that_are_none_are_refused_with_the_usage(capsys):
    with pytest.raises(SystemExit):
        main(["0", "4"])
    assert "a schedule of 0 stages: give a whole number" in capsys.readouterr().err
