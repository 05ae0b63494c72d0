"""What the cluster refuses, each with one sentence: who, what was wrong, and what to do.

All are ValueErrors, so that a script can end with the sentence alone.
"""


class PuzzleError(ValueError):
    """A training step did something that no real cluster would do."""


class Forged(PuzzleError):
    """A value that the cluster did not make: built by hand, or taken from another run."""


class Doubled(PuzzleError):
    """A sample would count twice in a gradient."""


class Missing(PuzzleError):
    """Samples, shards or whole layers that the step left out."""


class Stale(PuzzleError):
    """A weight or a state of another step than the one that is needed."""


class WrongShard(PuzzleError):
    """Shards that do not fit together."""


class Misplaced(PuzzleError):
    """A value of another rank, another layer, or another kind than the one that is needed."""


class Freed(PuzzleError, KeyError):
    """A value that this rank has freed."""

    __str__ = ValueError.__str__


class Frozen(PuzzleError, AttributeError):
    """Something that only the cluster may write."""


class Mismatch(PuzzleError):
    """Ranks of one group that are in different collectives."""


class Deadlock(PuzzleError):
    """Ranks that wait for each other, or for one that has ended. deadlock: see helpers.waits."""

    def __init__(self, sentence: str, deadlock=None):
        super().__init__(sentence)
        self.deadlock = deadlock


class OutOfMemory(PuzzleError):
    """A rank holds more than its card has."""


class NeverEnds(PuzzleError):
    """A step that goes on and on."""
