"""The rank that failed first is named, with its line; echoes of its failure are not."""

import linecache

import pytest

from helpers.hang import Standing
from helpers.hang.places import CELLS, locate
from helpers.ranks.failure import (
    LONGEST,
    RankState,
    first_failure,
    only_echoes,
    say_seconds,
    stopped,
    text_of,
)

FRAMES = [("/usr/lib/python3/runpy.py", 3, "run"), ("<cell>", 2, "train")]


class Silent(Exception):
    def __str__(self):
        return 1 / 0


def setup_module():
    CELLS["<cell>"] = "cell [7]"
    text = "def train():\n    return 1 / 0\n"
    linecache.cache["<cell>"] = (len(text), None, text.splitlines(keepends=True), "<cell>")


def error(text: str, time: float, kind: str = "RuntimeError") -> dict:
    return {"time": time, "type": kind, "text": text, "frames": FRAMES, "traceback": "…"}


def test_the_earliest_error_counts():
    states = [RankState(0, error=error("late", 2.0)), RankState(1, error=error("early", 1.0))]
    failure = first_failure(states)
    assert failure.rank == 1
    assert failure.sentence == (
        "rank 1 failed first at line 2 of cell [7], in train: RuntimeError: early"
    )
    assert failure.details.splitlines() == ["     2 |     return 1 / 0", "  (rank 0 was stopped)"]


def test_a_broken_connection_is_only_an_echo():
    states = [
        RankState(0, error=error("[gloo] Connection closed by peer [127.0.0.1]:4", 1.0)),
        RankState(1, error=error("division by zero", 2.0, "ZeroDivisionError")),
    ]
    assert first_failure(states).rank == 1


def test_a_killed_rank_comes_before_the_echoes():
    states = [
        RankState(0, error=error("Connection closed by peer", 1.0)),
        RankState(1, status=-9),
    ]
    said = first_failure(states).sentence
    assert said.startswith("rank 1 ended without a word: it was ended by SIGKILL")


def test_an_echo_waits_for_its_cause():
    echo = RankState(0, error=error("Connection closed by peer", 1.0))
    assert only_echoes([echo, RankState(1)])
    assert not only_echoes([echo, RankState(1, status=-9)])  # here is the cause
    assert not only_echoes([echo, RankState(1, result=b"")])  # a rank that has returned is one too
    assert not only_echoes([echo, RankState(1, error=echo.error)])  # nobody is left to tell


def test_a_connection_of_the_program_itself_is_a_cause():
    refused = error("[Errno 111] Connection refused", 2.0, "ConnectionRefusedError")
    echo = error("Connection closed by peer", 1.0, "DistNetworkError")
    states = [RankState(0, error=echo), RankState(1, error=refused), RankState(2)]
    assert not only_echoes(states)
    assert first_failure(states).rank == 1


def test_exit_status():
    assert "exit status 3" in first_failure([RankState(0, status=3)]).sentence


def test_a_rank_that_returned_before_its_partner():
    states = [
        RankState(0, result=b""),
        RankState(1, error=error("Connection closed by peer", 1.0)),
    ]
    assert "rank 0 had returned already" in first_failure(states).sentence


def test_a_time_out_says_where_each_rank_stood():
    states = [
        RankState(0, result=b""),
        RankState(1, standing=Standing(1, frames=FRAMES)),
        RankState(2),
    ]
    failure, certain = stopped(states, after=5)
    assert failure.sentence.startswith("the ranks did not finish within 5 s, and were stopped")
    assert "rank 0 has finished" in str(failure)
    assert "rank 1 is at work at line 2 of cell [7], in train" in str(failure)
    assert "rank 2 did not answer" in str(failure)
    assert not certain


def test_several_ranks_fail_together():
    text = "different collectives meet: rank 0 …; rank 1 …"
    states = [RankState(0, error=error(text, 1.0, "Mismatch")), RankState(1)]
    assert first_failure(states).sentence == text


def test_library_frames_are_passed_over():
    inside = [("<cell>", 2, "train"), (linecache.__file__, 1, "getline")]
    assert locate(inside).phrase == " at line 2 of cell [7], in train"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (MemoryError(), ""),
        (ValueError("  first\r\n\n second\n"), "first second"),
        (Silent(), "(no text: its __str__ raised ZeroDivisionError)"),
    ],
)
def test_the_text_of_an_error_stands_on_one_line(error, text):
    assert text_of(error) == text


def test_a_long_text_is_cut_and_says_by_how_much():
    text = text_of(ValueError("a" + "z" * 1_000_000 + "b"))
    assert len(text) < 2 * LONGEST and text[0] == "a" and text[-1] == "b"
    assert f"({1_000_002 - LONGEST:,} characters left out)" in text


def test_an_error_without_text_ends_without_a_colon():
    state = RankState(0, error=error("", 1.0, "MemoryError"))
    assert first_failure([state]).sentence.endswith("in train: MemoryError")


@pytest.mark.parametrize(
    ("given", "ending"),
    [("None", "with exit status 0: "), ("3", "exit status 3"), ("no data", "train: no data")],
)
def test_a_rank_that_calls_sys_exit(given, ending):
    state = RankState(0, error=error(given, 1.0, "SystemExit"))
    assert ending in first_failure([state]).sentence


def test_a_time_limit_is_said_in_round_seconds():
    assert [say_seconds(s) for s in (59.9999, 300.0, 2.5, 0.25)] == [
        "60 s",
        "300 s",
        "2.5 s",
        "0.25 s",
    ]
