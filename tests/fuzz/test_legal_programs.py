"""Random communication programs that can't hang are never judged.

A legal program is made from one sequence of events that all ranks share: a message, a collective,
a group. Each rank does its own part of each event in the order of the sequence, so no order of the
ranks can make it hang. It may start its parts asynchronously and wait for them later, do them in a
thread, or be late. They are drawn, and run, in tests/frozen/hangs.py.
"""

import pytest

from helpers.ranks import launch, supervisor
from tests.frozen import hangs

pytestmark = [pytest.mark.stress, pytest.mark.ranks]


def legal(seeds: list[int]) -> str:
    hangs.LATE_S = 0.3
    return hangs.several_legal(seeds)


@pytest.mark.parametrize("checked", [True, False], ids=["checked", "unchecked"])
def test_legal_programs_are_never_judged(checked, effort, numbers, monkeypatch):
    # Often and soon, so that what isn't proven shows.
    monkeypatch.setattr(supervisor, "STALL_S", 0.2)
    monkeypatch.setattr(supervisor, "ASK_S", 0.05)
    for ranks in (2, 4):
        for _ in range(effort(1, 5)):
            seeds = [numbers.randrange(1 << 30) for _ in range(effort(3, 12))]
            how = {"timeout": 120, "on_error": "report", "quiet": True, "checked": checked}
            report = launch(legal, ranks, (seeds,), **how)
            assert report.ok, f"{ranks} ranks, seeds {seeds}: {report.failure}"
            assert report.results == ["done"] * ranks
