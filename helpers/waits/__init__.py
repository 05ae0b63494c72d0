"""Who waits for whom: from a list of waits to the knot in it, one sentence and one picture.

    knot = find_knot([Wait(0, (1,), "sends to rank 1"), Wait(1, (0,), "sends to rank 0")])
    sentence(knot)     "rank 0 waits for rank 1 (it sends to rank 1), and rank 1 waits for …"
    picture(waits)     a row for each rank, an arrow to each rank that it waits for

Real ranks, schedules and simulated clusters all explain their deadlocks through it. Everything is
pure: the caller says what waits.
"""

from helpers.waits.graph import Knot, Wait, find_knot
from helpers.waits.picture import picture
from helpers.waits.words import sentence

__all__ = ["Knot", "Wait", "find_knot", "picture", "sentence"]
