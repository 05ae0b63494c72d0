"""Who waits for whom: the deadlock in it, the sentence, the picture."""

import itertools
import random
import subprocess
import sys

import pytest

from helpers.waits import Wait, find_deadlock, sentence


def wait(who, *needs, any_of=False):
    return Wait(who, needs, f"sends to rank {needs[0]}", f"line {who}", any_of=any_of)


TWO = "rank 0 waits for rank 1 (it sends to rank 1, line 0), and rank 1 waits for rank 0 (it sends"
RING = [wait(i, (i + 1) % 20) for i in range(20)]


@pytest.mark.parametrize(
    ("waits", "ended", "core", "words"),
    [
        ([wait(0, 1), wait(1, 0), wait(2, 1)], (), [0, 1], TWO),
        ([wait(0, 1), wait(1, 2), wait(2, 0, 3), wait(3, 2)], (), [2, 3], "rank 2 waits for rank "),
        ([wait(0, 2), wait(1, 0)], {2}, [0], "line 0), which has ended already"),
        (RING, (), [*range(20)], "so on through 17 more, back to the first"),
    ],
)
def test_the_waits_that_explain_a_deadlock(waits, ended, core, words):
    deadlock = find_deadlock(waits, ended)
    assert [w.who for w in deadlock.core] == core and deadlock.ended == tuple(ended)
    assert [w.who for w in deadlock.waits] == [w.who for w in waits]
    assert deadlock.cycle == (() if ended else deadlock.core)
    assert words in sentence(deadlock)


def can_never_end(waits, ended):
    """By trying: whoever waits for nobody that still waits, or has ended, stops waiting."""
    left = {w.who: w for w in waits}
    for _ in range(len(waits)):
        for who, w in list(left.items()):
            able = [n not in left and n not in ended for n in w.needs]
            if any(able) if w.any_of else all(able):
                del left[who]
    return sorted(left)


def test_against_trying_it_out():
    draw = random.Random(0)
    for _ in range(300):
        ranks = draw.randint(1, 6)
        waits = [
            Wait(who, tuple(draw.sample(range(ranks), draw.randint(1, ranks))), "", any_of=how)
            for who, how in zip(range(ranks), itertools.cycle([True, False]), strict=False)
            if draw.random() < 0.8
        ]
        ended = {r for r in range(ranks) if r not in {w.who for w in waits} and draw.random() < 0.5}
        deadlock = find_deadlock(waits, ended)
        assert [w.who for w in (deadlock.waits if deadlock else ())] == can_never_end(waits, ended)
        cycle = deadlock.cycle if deadlock else ()
        pairs = zip(cycle, cycle[1:] + cycle[:1], strict=True)
        assert all(after.who in w.needs for w, after in pairs)


NOTEBOOK = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
from contextlib import suppress
from helpers.ranks import Failure, LaunchReport, RankFailed
from helpers.ranks.start import raise_failure
from helpers.waits import Wait, WaitGraph
graph = WaitGraph((Wait(0, (1,), "sends"), Wait(1, (0,), "sends")))
shown, _ = shell.display_formatter.format(graph)
print(*sorted(shown), shown["text/html"].count('<img alt="Who waits for whom. rank 0 waits'))
shell.display_pub.publish = lambda data, **_: print(*sorted(data), data["text/html"][:4])
failure = Failure(None, "a deadlock", waits=graph)
shell.display_formatter.format(LaunchReport([], failure, [], 1.0))
shell.display_formatter.format(LaunchReport([1], None, [], 1.0))
shell.kernel = None
with suppress(RankFailed):
    raise_failure(failure)
"""


def test_a_notebook_draws_what_the_ranks_only_report():
    done = subprocess.run([sys.executable, "-c", NOTEBOOK], capture_output=True, text=True)
    first, *reports = done.stdout.splitlines()
    assert first == "text/html text/plain 1", done.stderr
    words, picture = "text/html text/plain <pre", "text/html text/plain <img"
    assert reports == [words, picture, words, picture]
