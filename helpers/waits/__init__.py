"""Explain who waits for whom: find the deadlock in a list of waits, as a sentence and a picture.

    deadlock = find_deadlock([Wait(0, (1,), "sends to rank 1"), Wait(1, (0,), "sends to rank 0")])
    sentence(deadlock)    "rank 0 waits for rank 1 (it sends to rank 1), and rank 1 waits for …"
    picture(waits)        a row for each rank, an arrow to each rank that it waits for

Real ranks, schedules and simulated clusters all explain their deadlocks through it. Everything is
pure: the caller says what waits.
"""

from helpers.waits.explain import picture, sentence
from helpers.waits.graph import Deadlock, Wait, find_deadlock

__all__ = ["Deadlock", "Wait", "find_deadlock", "picture", "sentence"]
