"""Of ranks that wait for each other the deadlock is found, and told in a sentence.

ranks/test_kernel.py draws it.
"""

import pytest

from helpers.waits import Wait, find_deadlock, sentence


def wait(who, *needs, any_of=False):
    return Wait(who, needs, f"sends to rank {needs[0]}", f"line {who}", any_of=any_of)


TWO = "rank 0 waits for rank 1 (it sends to rank 1, line 0), and rank 1 waits for rank 0 (it sends"
RING = [wait(i, (i + 1) % 20) for i in range(20)]
ANY = wait(0, 1, 2, any_of=True)


@pytest.mark.parametrize(
    ("waits", "ended", "core", "words"),
    [
        ([wait(0, 1), wait(1, 0), wait(2, 1)], (), [0, 1], TWO),
        ([wait(0, 1), wait(1, 2), wait(2, 0, 3), wait(3, 2)], (), [2, 3], "rank 2 waits for rank "),
        ([wait(0, 1, 2), wait(1, 0)], (), [0, 1], TWO),  # rank 2 alone can't help
        ([ANY, wait(1, 0), wait(2, 0)], (), [0, 1], TWO),
        ([wait(0, 2), wait(1, 0)], {2}, [0], "line 0), which has ended already"),
        ([wait(0, 1, 3)], {1}, [0], "line 0), which has ended already"),
        ([ANY], {1, 2}, [0], "ranks 1 and 2 (it sends to rank 1, line 0), which have ended"),
        (RING, (), [*range(20)], "so on through 17 more, back to the first"),
    ],
)
def test_the_waits_that_explain_a_deadlock(waits, ended, core, words):
    deadlock = find_deadlock(waits[::-1], {*ended, 99})
    assert [w.who for w in deadlock.core] == core and deadlock.ended == tuple(ended)
    assert deadlock.waits == tuple(waits)
    assert deadlock.cycle == (() if ended else deadlock.core)
    assert words in sentence(deadlock)


@pytest.mark.parametrize(
    ("waits", "ended"), [([wait(0, 1), wait(1, 2)], ()), ([ANY, wait(1, 0)], ()), ([ANY], {1})]
)
def test_waits_that_somebody_can_end_are_no_deadlock(waits, ended):
    assert find_deadlock([*waits, wait(3, 4)], ended) is None
