"""Explain who waits for whom: find the deadlock in a list of waits, and say it in a sentence.

    deadlock = find_deadlock([Wait(0, (1,), "sends to rank 1"), Wait(1, (0,), "sends to rank 0")])
    sentence(deadlock)    "rank 0 waits for rank 1 (it sends to rank 1), and rank 1 waits for …"
    WaitGraph(waits)      what `helpers.draw.who_waits` draws: a row for each rank, an arrow a wait

Real ranks, schedules and simulated clusters all explain their deadlocks through it. Everything is
pure: the caller says what waits.
"""

from helpers.waits.graph import Deadlock, Wait, WaitGraph, find_deadlock, sentence

__all__ = ["Deadlock", "Wait", "WaitGraph", "find_deadlock", "sentence"]
