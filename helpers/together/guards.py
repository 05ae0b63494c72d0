"""What a merge makes of changes of which some may be hostile.

Each takes {learner: delivery} and returns the deliveries that lesson 21's `merge` gets in their
place, so that its mean, weighted by tokens, is the guarded one. They hold against a minority: with
one or two learners trimmed mean and median are the mean.

- "mean": as they are. One learner who sends a large change decides alone.
- "clip": no change is longer, and none claims more tokens, than the median learner's. It bounds
  what each can do, but a crowd that pushes in one direction still pushes.
- "trimmed": number by number the mean without the fifth of the learners (rounded up) at each end.
- "median": number by number the median (Yin et al. 2018, arXiv 1803.01498, has both).
"""

import functools
import math

import numpy as np

TRIM = 0.2


class Worked(dict):
    """A delivery whose change is worked out when it's asked for, together with the others'."""

    def __getitem__(self, name):
        return super().__getitem__(name)() if name == "delta" else super().__getitem__(name)


def clip(deltas: list[np.ndarray]) -> list[np.ndarray]:
    """Return the changes, those that are longer than the median one cut to its length."""
    lengths = [np.linalg.norm(delta.astype(np.float64)) for delta in deltas]
    limit = np.median(lengths)
    pairs = zip(deltas, lengths, strict=True)
    return [d if long <= limit else d * np.float32(limit / long) for d, long in pairs]


def trimmed(deltas: list[np.ndarray]) -> list[np.ndarray]:
    """Return as often as there are changes their mean, number by number, without both ends."""
    cut = math.ceil(TRIM * len(deltas)) if len(deltas) > 2 else 0
    kept = np.sort(deltas, axis=0)[cut : len(deltas) - cut]
    return [kept.mean(axis=0)] * len(deltas)


def median(deltas: list[np.ndarray]) -> list[np.ndarray]:
    """Return as often as there are changes their median, number by number."""
    return [np.median(deltas, axis=0)] * len(deltas)


GUARDS = {"mean": None, "clip": clip, "trimmed": trimmed, "median": median}


def guarded(deliveries: dict, name: str) -> dict:
    """Return the deliveries that `merge` gets; `name` is one of `GUARDS`."""
    if not (guard := GUARDS[name]):
        return deliveries
    most = float(np.median([one["tokens"] for one in deliveries.values()]))

    @functools.cache
    def changes():
        found = guard([one["delta"] for one in deliveries.values()])
        return dict(zip(deliveries, found, strict=True))

    def delivery(learner, one):
        tokens = min(one["tokens"], most)
        return Worked(one, tokens=tokens, delta=lambda: changes()[learner])

    return {learner: delivery(learner, one) for learner, one in deliveries.items()}
