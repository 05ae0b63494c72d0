"""The syncer: it merges what learners have learned, and waits for a quorum but for nobody else.

DiLoCo (lesson 04) takes the mean of what *all* replicas have changed as the gradient of an outer
optimizer. Here the mean is over the learners that have delivered when a quorum of them has and a
grace window is over, weighted by their tokens. The model is cut into fragments, each of which is
delivered and merged by itself, at its own time.
"""

import threading
import time

import numpy as np
from rules import merge
from wire import Server


def cut(weights, fragments):
    """Return a slice of the weights for each fragment; they are equally long, but for one number.

    Decoupled DiLoCo cuts between layers; for the merge, number by number, that's the same.
    """
    ends = np.linspace(0, len(weights), fragments + 1).astype(int)
    return [slice(start, end) for start, end in zip(ends, ends[1:], strict=False)]


class Fragment:
    """A part of the global weights: its version, and the deliveries that wait for its merge."""

    def __init__(self, weights):
        self.weights, self.velocity, self.version = weights, np.zeros_like(weights), 0
        self.waiting, self.since = {}, None


class Syncer:
    """Take deliveries and merge them.

    Attributes:
        address: where learners find it.
        merges: for each merge of a fragment {learner: how many versions its base was behind}.
        steps: of all learners, merged; a step counts by the share of its fragments that are.
        dropped: those whose base was too old.
    """

    def __init__(self, weights, quorum, grace, oldest, present, fragments=1):
        """Listen, with a server that answers by `answer`.

        grace: seconds after the quorum in which further learners may still deliver.
        oldest: how many versions a delivery may be behind.
        present: a function that returns the learners that could still deliver.
        """
        self.fragments = [Fragment(weights[part]) for part in cut(weights, fragments)]
        self.quorum, self.grace, self.oldest, self.present = quorum, grace, oldest, present
        self.merges, self.steps, self.dropped, self.ended = [], 0.0, 0.0, False
        self.changed = threading.Condition()
        self.server = Server(self.answer)
        self.address = self.server.address

    @property
    def weights(self):
        """The global weights."""
        return np.concatenate([fragment.weights for fragment in self.fragments])

    def answer(self, message, file):
        if message.pop("verb") == "deliver":
            return self.deliver(**message)
        with self.changed:
            versions = [fragment.version for fragment in self.fragments]
            return {"weights": self.weights, "versions": versions}

    def deliver(self, learner, part, **delivery):
        """Keep a delivery until it's merged; return the weights that have come of it."""
        fragment = self.fragments[part]
        with self.changed:
            kept = self.keep(learner, fragment, delivery)
            while fragment.waiting.get(learner) is delivery and not self.ended:
                self.merge_if_due(fragment)
                self.changed.wait(0.05)
            return {"weights": fragment.weights, "version": fragment.version, "kept": kept}

    def keep(self, learner, fragment, delivery):
        """Keep a delivery for the next merge unless it is too late; return whether it was kept."""
        kept = fragment.version - delivery["base"] <= self.oldest
        if kept:
            fragment.waiting[learner] = delivery
        else:
            self.dropped += delivery["steps"] / len(self.fragments)
        return kept

    def merge_if_due(self, fragment):
        """Merge when the quorum is there and the grace window over, or nobody else is missing."""
        version, waiting = fragment.version, fragment.waiting
        if len(waiting) < self.quorum:
            fragment.since = None
            return
        fragment.since = fragment.since or time.monotonic()
        missing = set(self.present()) - set(waiting)
        if missing and time.monotonic() < fragment.since + self.grace:
            return
        merged = merge(
            fragment.weights, fragment.velocity, waiting, version, self.quorum, self.oldest
        )
        if merged is None:
            return
        fragment.weights, fragment.velocity = merged
        self.merges.append({learner: version - one["base"] for learner, one in waiting.items()})
        self.steps += sum(one["steps"] for one in waiting.values()) / len(self.fragments)
        fragment.version, fragment.waiting, fragment.since = version + 1, {}, None
        self.changed.notify_all()

    def stop(self):
        """End; learners notice it, because nobody answers any more."""
        with self.changed:
            self.ended = True
            self.changed.notify_all()
        self.server.close()
