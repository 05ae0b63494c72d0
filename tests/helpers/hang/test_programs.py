"""The programs of tests/frozen/hangs.py: what must be said of those that hang, and no more.

There nobody may be judged before two seconds have passed; here ranks stand still for less time.
"""

import random

import pytest

from helpers.ranks import launch, run_script
from tests.frozen import hangs

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

MODES = {True: "checked", False: "unchecked"}
LATE_S = 1.2  # much longer than these tests let ranks stand still before they are judged
# What test_hang_lines.py has, too; what is told after ten seconds only; and what no launch judges.
ELSEWHERE = {hangs.joins_a_thread_that_receives, hangs.leaves_a_thread_that_receives}
ELSEWHERE |= {program for program, *_ in hangs.TABLE} | {hangs.ddp_with_a_batch_more}


def reported(program, ranks, checked, seconds, *arguments):
    how = {"timeout": seconds, "on_error": "report", "quiet": True, "checked": checked}
    return launch(program, ranks, arguments, **how)


def cases(rows):
    """Each row once for each of its modes."""
    return [
        pytest.param(row[0], row[1], checked, *row[3:], id=f"{MODES[checked]} {row[0].__name__}")
        for row in rows
        for checked in row[2]
    ]


TOLD = [row for row in hangs.HANGS if row[0] not in ELSEWHERE]


@pytest.mark.parametrize(("program", "ranks", "checked", "seconds", "first", "all_of"), cases(TOLD))
def test_a_hang_is_told(program, ranks, checked, seconds, first, all_of):
    said = str(reported(program, ranks, checked, seconds))
    assert all(words in said.splitlines()[0] for words in first), said
    assert all(words in said for words in all_of) and "did not answer" not in said, said


@pytest.mark.parametrize("name", hangs.DIFFERENT)
def test_collectives_that_do_not_fit(name):
    said = str(reported(hangs.ranks_that_differ, 2, True, 60, name)).splitlines()[0]
    assert all(words in said for words in hangs.DIFFERENT[name]), said


@pytest.mark.parametrize("checked", MODES, ids=MODES.values())
def test_a_rank_that_is_not_there_is_refused_at_the_call(checked):
    report = reported(hangs.ranks_that_are_not_there, 2, checked, 60)
    for rank, said in enumerate(report.results):
        for sentence, words in zip(said, hangs.NOT_THERE, strict=True):
            assert sentence.startswith(f"rank {rank} {words}"), sentence
    assert "let rank 0 skip it, or take (rank - 1) % 2 for a ring" in report.results[0][1]
    assert "let the last rank skip it, or take (rank + 1) % 2" in report.results[1][0]


def in_a_hurry(name):
    """Run a program in which ranks are late, but not by as much as for a judge of two seconds."""
    hangs.LATE_S, hangs.PAUSE_S = LATE_S, 0.5
    return getattr(hangs, name)()


@pytest.mark.long_for("unchecked")
@pytest.mark.parametrize(("program", "ranks", "checked", "seconds", "last"), cases(hangs.RUNS))
def test_a_legal_program_ends(program, ranks, checked, seconds, last):
    report = reported(in_a_hurry, ranks, checked, seconds, program.__name__)
    assert report.ok, report.failure
    if program is hangs.everything:
        first, second = report.results[:2]
        assert (first[0], first[4], first[6]) == ([2.0] * 3, [1, 2], ["hello", 2])
        assert (first[5], second[4]) == ([0, 6], [6, 4])
    else:
        assert report.results[-1] == last


@pytest.mark.parametrize("way", hangs.WAYS)
def test_a_script_ends_as_python_ends(way, tmp_path):
    (tmp_path / "script.py").write_text(hangs.SCRIPT.format(way=way), encoding="utf-8")
    report = run_script(tmp_path / "script.py", 2, timeout=60, quiet=True)
    assert report.ok, report.failure
    assert "received 7.0" in report.texts[1]


def drawn(seeds):
    hangs.LATE_S = 0.3
    return hangs.several_legal(seeds)


@pytest.mark.stress
@pytest.mark.parametrize("checked", MODES, ids=MODES.values())
def test_random_legal_programs_are_never_judged(checked):
    for ranks in (2, 4) * 5:
        seeds = [random.randrange(1 << 30) for _ in range(12)]
        report = reported(drawn, ranks, checked, 120, seeds)
        assert report.ok, f"{ranks} ranks, seeds {seeds}: {report.failure}"
        assert report.results == ["done"] * ranks
