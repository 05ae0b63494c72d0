from types import SimpleNamespace

import pytest

from helpers.grade.workshop import _in_our_words


def failure(sentence, rank=0, details=""):
    return SimpleNamespace(
        sentence=sentence, rank=rank, details=details, traceback="Traceback …", picture=None
    )


@pytest.mark.parametrize(
    ("failed", "kind", "sentence"),
    [
        (
            failure("rank 1 failed first at line 3: NotImplementedError: Task DP-1: do it."),
            "not done",
            "not done yet: Task DP-1: do it.",
        ),
        (
            failure("rank 1 failed first at line 3: NotImplementedError: later"),
            "crash",
            "rank 1 failed first at line 3: NotImplementedError: later",
        ),
        (
            failure(
                "both wait", None, "  rank 0 sends at line 3\n     3 | x\n  Cure: turn one round"
            ),
            "time-out",
            "both wait. turn one round",
        ),
    ],
)
def test_failure_of_ranks_in_the_words_of_a_verdict(failed, kind, sentence):
    found = _in_our_words(failed)
    assert (found["kind"], found["sentence"]) == (kind, sentence)
    assert "Traceback …" in found["details"]
