"""The rank that failed first is named, with its line; echoes of its failure are not."""

import linecache

import pytest

from helpers.hang.cases import waits_long
from helpers.hang.operation import Operation
from helpers.hang.places import CELLS
from helpers.ranks.failure import RankState, first_failure, only_echoes
from helpers.ranks.job import Error

pytestmark = pytest.mark.ranks

FRAMES = [("/usr/lib/python3/runpy.py", 3, "run"), ("<cell>", 2, "train")]


def setup_module():
    CELLS["<cell>"] = "cell [7]"
    text = "def train():\n    return 1 / 0\n"
    linecache.cache["<cell>"] = (len(text), None, text.splitlines(keepends=True), "<cell>")


def error(text: str, time: float, kind: str = "RuntimeError") -> Error:
    return Error(time, kind, text, FRAMES, "…", "size" if kind == "Mismatch" else "")


ECHO = error("[gloo] Connection closed by peer [127.0.0.1]:4", 1.0)
REFUSED = error("[Errno 111] Connection refused", 2.0, "ConnectionRefusedError")  # the program's


@pytest.mark.parametrize(
    ("states", "words"),
    [
        (
            [{"error": error("late", 2.0)}, {"error": error("early", 1.0)}],
            "rank 1 failed first at line 2 of cell [7], in train: RuntimeError: early",
        ),
        ([{"error": ECHO}, {"error": error("no", 2.0, "KeyError")}], "rank 1 failed first at line"),
        ([{"error": ECHO}, {"error": REFUSED}, {}], "rank 1 failed first at line"),
        ([{"error": ECHO}, {"status": -9}], "rank 1 ended without a word: it was ended by SIGKILL"),
        ([{"status": 3}], "exit status 3"),
        ([{"result": b""}, {"error": ECHO}], "rank 0 had returned already"),
        ([{"error": error("rank 0 …; rank 1 …", 1.0, "Mismatch")}, {}], "rank 0 …; rank 1 …"),
        ([{"error": error("", 1.0, "MemoryError")}], "in train: MemoryError"),
        ([{"error": error("None", 1.0, "SystemExit")}], "with exit status 0: "),
        ([{"error": error("3", 1.0, "SystemExit")}], "exit status 3"),
        ([{"error": error("no data", 1.0, "SystemExit")}], "train: no data"),
    ],
)
def test_what_is_said_of_the_first_failure(states, words):
    states = [RankState(rank, **facts) for rank, facts in enumerate(states)]
    assert words in first_failure(states).sentence


def test_the_line_is_shown_and_who_was_stopped():
    states = [RankState(0), RankState(1, error=error("early", 1.0))]
    details = first_failure(states).details
    assert details.splitlines() == ["     2 |     return 1 / 0", "  (rank 0 was stopped)"]


def test_an_echo_waits_for_its_cause():
    echo = RankState(0, error=ECHO)
    assert only_echoes([echo, RankState(1)])
    assert not only_echoes([echo, RankState(1, status=-9)])  # here is the cause
    assert not only_echoes([echo, RankState(1, result=b"")])  # a rank that has returned is one too
    assert not only_echoes([echo, RankState(1, error=ECHO)])  # nobody is left to tell
    assert not only_echoes([echo, RankState(1, error=REFUSED), RankState(2)])


@pytest.mark.parametrize(
    ("name", "peer", "words"),
    [
        ("recv", 2, "rank 2"),
        ("recv", None, "one of ranks 1 and 2"),
        ("broadcast", 2, "one of ranks 1 and 2"),
    ],
)
def test_whom_a_long_wait_is_for(name, peer, words):
    said = waits_long(12, Operation(name, 0, peer, members=(0, 1, 2)), " at line 4")
    assert said.startswith(f"rank 0 has waited 12 s for {words}: it ") and said.endswith(" line 4")
