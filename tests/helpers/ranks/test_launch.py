"""Real ranks, from a function: results, output, failures, and nothing left behind."""

import os
import pickle
import random
import signal
import sys
import threading
import time

import numpy
import pytest
import torch
import torch.distributed as dist

from helpers.ranks import CannotSend, RankFailed, launch, run_script
from helpers.ranks.job import pack

pytestmark = pytest.mark.ranks


def test_results_come_back_in_order_and_output_is_marked(capfd):
    offset = 10.0

    def add(n):
        x = torch.full((n,), dist.get_rank() + offset)
        dist.all_reduce(x)
        print("I am", dist.get_rank())
        os.write(1, b"from below Python\n")
        print("the end", end="")
        return dist.get_rank(), x

    results = launch(add, ranks=3, args=(4,))
    assert [rank for rank, _ in results] == [0, 1, 2]
    assert all(torch.equal(x, torch.full((4,), 33.0)) for _, x in results)
    out = capfd.readouterr().out.splitlines()
    assert sorted(line for line in out if "I am" in line) == [
        f"[rank {r}] I am {r}" for r in range(3)
    ]
    assert sum("from below Python" in line for line in out) == 3
    assert sorted(out[-3:]) == [f"[rank {r}] the end" for r in range(3)]
    assert any("3 ranks over gloo: there is no GPU here" in line for line in out) or (
        torch.cuda.is_available()
    )


def test_the_first_to_fail_is_named_with_its_line(capfd):
    def train():
        if dist.get_rank() == 1:
            raise KeyError("no such layer")
        dist.barrier()

    with pytest.raises(RankFailed) as caught:
        launch(train, ranks=2)
    line = train.__code__.co_firstlineno + 2
    assert f"rank 1 failed first at line {line} of test_launch.py, in train: KeyError" in str(
        caught.value
    )
    assert 'raise KeyError("no such layer")' in str(caught.value)


def exits():
    if dist.get_rank() == 1:
        os._exit(7)
    dist.barrier()


def is_killed():
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()


def takes_a_short_buffer():
    dist.recv(torch.ones(4), 0) if dist.get_rank() else dist.send(torch.ones(8), 1)


def returns_what_cannot_be_unpickled():
    class Bad:
        def __reduce__(self):
            return eval, ("1 / 0",)

    return Bad() if dist.get_rank() else "good"


def returns_a_lock():
    return threading.Lock()


def returns_too_much():
    import helpers.ranks.worker

    helpers.ranks.worker.LARGEST = 1000
    return torch.ones(2000)


def raises_without_words():
    class Silent(Exception):
        def __str__(self):
            raise RuntimeError

    raise Silent


def has_a_cause_that_comes_late():
    if dist.get_rank() == 1:
        dist.destroy_process_group()
        time.sleep(1.5)
        raise ValueError("this is why")
    dist.recv(torch.ones(1), 1)


def starts_ranks():
    return launch(len, ranks=2)


@pytest.mark.parametrize(
    ("program", "ranks", "words"),
    [
        (exits, 2, ["rank 1 ended without a word: its process ended itself with exit status 7"]),
        (is_killed, 2, ["rank 1 ended without a word: it was ended by SIGKILL"]),
        (
            takes_a_short_buffer,
            2,
            ["without a word: it was ended by SIGABRT", "checked=True, or --checked, says which"],
        ),
        (
            returns_what_cannot_be_unpickled,
            2,
            ["rank 1 came back, but can't be unpickled here", "ZeroDivisionError: division by ze"],
        ),
        (returns_a_lock, 1, ["the result, a lock, cannot be sent back"]),
        (returns_too_much, 1, ["the result of rank 0, a Tensor, takes 0 MB, and at ", "to a file"]),
        (raises_without_words, 1, ["Silent: (no text"]),
        (has_a_cause_that_comes_late, 2, ["ValueError: this is why"]),
        (starts_ranks, 1, ["runs inside rank 0 already, and a rank cannot start ranks"]),
    ],
)
def test_what_is_said_of_a_rank_that_fails(program, ranks, words):
    report = launch(program, ranks, timeout=60, on_error="report", quiet=True, checked=False)
    assert not report.ok and all(each in report.failure.sentence for each in words)
    assert report.results == [None] * ranks


def test_after_its_time_a_launch_is_stopped():
    begun = time.monotonic()
    report = launch(time.sleep, 2, (60,), timeout=0.8, on_error="report", quiet=True)
    assert report.failure.sentence.startswith("the ranks did not finish within 0.8 s, and were st")
    assert time.monotonic() - begun < 50


def test_a_flood_of_text_is_cut_and_said(capfd):
    def flood():
        for _ in range(300):
            sys.stdout.write("x" * 99_999 + "\n")
        print("the end")

    report = launch(flood, ranks=2, on_error="report")
    shown = capfd.readouterr().out
    assert report.ok
    assert shown.count("has printed more than 1,000,000 characters") == 2
    assert len(shown) < 2_100_000
    assert all("characters left out]" in text for text in report.texts)
    assert all("xxx" in text[:500] and text.endswith("the end\n") for text in report.texts)
    assert all(len(text) < 5_000_000 for text in report.texts)


def test_two_launches_at_once():
    def sum_of_ranks(start):
        x = torch.tensor([float(start + dist.get_rank())])
        dist.all_reduce(x)
        return x.item()

    found = {}

    def run(start):
        found[start] = launch(sum_of_ranks, ranks=2, args=(start,), quiet=True)

    threads = [threading.Thread(target=run, args=(start,)) for start in (0, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {0: [1.0, 1.0], 10: [21.0, 21.0]}


def test_ranks_draw_different_random_numbers():
    """They are copies of one process."""

    def draw():
        return random.random(), numpy.random.rand(), os.getpid()

    drawn = [*launch(draw, ranks=2, quiet=True), *launch(draw, ranks=1, quiet=True)]
    assert all(len(set(values)) == 3 for values in zip(*drawn, strict=True))


@pytest.mark.slow
def test_without_fork_the_same_happens(monkeypatch):
    def who():
        x = torch.ones(1)
        dist.all_reduce(x)
        return x.item()

    monkeypatch.setenv("LAB_FORK", "0")
    assert launch(who, ranks=2, quiet=True) == [2.0, 2.0]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"ranks": 0}, "ranks must be a whole number from 1 to 64, not 0"),
        ({"ranks": 1000}, "ranks must be a whole number from 1 to 64, not 1000"),
        ({"ranks": 2.5}, "not 2.5"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0, not 0"),
        ({"timeout": float("nan")}, "timeout must be a number of seconds above 0, not nan"),
        ({"timeout": float("inf")}, "timeout must be a number of seconds above 0, not inf"),
        ({"on_error": "ignore"}, "on_error must be 'raise' or 'report'"),
    ],
)
def test_wrong_arguments(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        launch(print, **arguments)
    if "on_error" not in arguments:
        with pytest.raises(ValueError, match=sentence):
            run_script(__file__, **arguments)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (open, "because it uses 'value': it is an open file ('/dev/null'); open the file inside"),
        (threading.Lock, "it uses 'value': it is a lock, which means nothing in another process"),
    ],
)
def test_a_function_that_cannot_be_sent_names_what_stops_it(kind, words):
    value = kind("/dev/null", "w") if kind is open else kind()

    def train():
        return value

    with pytest.raises(CannotSend, match=r"train\(\) cannot be sent to the ranks, ") as refused:
        launch(train)
    assert words in str(refused.value)


def test_an_argument_that_cannot_be_sent_and_a_call_in_place_of_a_function():
    with pytest.raises(CannotSend, match=r"argument 1 of print\(\) .*: it is a generator"):
        launch(print, args=((n for n in range(3)),))
    with pytest.raises(CannotSend, match=r"launch\(\) needs a function, not a NoneType"):
        launch(None)


def test_code_comes_back_with_the_name_of_its_file():
    """The line of a rank that fails is read from that file, whatever cloudpickle makes of it."""

    def outer():
        return lambda: None

    back = pickle.loads(pack(outer))
    assert back.__code__.co_filename == back().__code__.co_filename == __file__
