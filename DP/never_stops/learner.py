"""A learner that never waits: it delivers what it has changed while it computes on."""

import functools
import threading
import time

from rules import State
from syncer import cut
from wire import Refused, ask

HEALING, COMPUTING, DELIVERING = 1, 2, 3  # what a learner says it's doing


class Delivery(threading.Thread):
    """A delivery on its way, and what has come of it: `answer`, None until then."""

    def __init__(self, ask, delta, **message):
        super().__init__(daemon=True)
        self.ask, self.message, self.answer = ask, {**message, "delta": delta}, None
        self.start()

    def run(self):
        try:
            self.answer = self.ask(verb="deliver", **self.message)
        except (OSError, Refused) as error:
            self.answer = error  # the syncer has ended, or doesn't want it


class Part:
    """A learner's side of a fragment.

    anchor, base: the global weights that it goes on from, and their version.
    steps: since its last delivery; a part begins with some, so that not all are due at once.
    sent: its delivery, as long as that is on its way. handed: the weights that it was about.
    """

    def __init__(self, number, where, anchor, base, steps):
        self.number, self.where, self.anchor, self.base = number, where, anchor, base
        self.steps, self.counted, self.tokens = steps, 0, 0
        self.sent, self.handed = None, anchor

    def deliver(self, ask, learner, weights):
        """Hand over what has changed; the steps from here on go into the next delivery."""
        self.handed = weights[self.where]
        facts = {"learner": learner, "part": self.number, "base": self.base}
        facts |= {"tokens": self.tokens, "steps": self.counted}
        self.sent = Delivery(ask, self.handed - self.anchor, **facts)
        self.steps = self.counted = self.tokens = 0

    def take(self, weights):
        """Return the weights to go on from: the merged ones, and what has changed meanwhile.

        Raises OSError if the syncer has ended, and Refused if it doesn't want the delivery.
        """
        if isinstance(self.sent.answer, Exception):
            raise self.sent.answer
        self.anchor, self.base = self.sent.answer["weights"], self.sent.answer["version"]
        self.sent, weights = None, weights.copy()
        weights[self.where] = self.anchor + (weights[self.where] - self.handed)
        return weights


def learn(number, syncer, work, every, pace, fragments, doing):
    """Be a learner in a process of its own, until the syncer ends.

    Args:
        syncer: its address.
        every: inner steps from one delivery of a fragment to the next.
        pace: seconds that an inner step takes, as if the model were larger.
        fragments: into how many parts the syncer has cut the model.
        doing: a shared array in which it says what it's doing.
    """
    ask_syncer, work = functools.partial(ask, syncer), work()
    doing[number] = HEALING
    try:
        found = ask_syncer(verb="weights")
        state = State.new(found["weights"])
        parts = [
            Part(p, where, state.weights[where].copy(), base, steps=p * every // fragments)
            for p, (where, base) in enumerate(
                zip(cut(state.weights, fragments), found["versions"], strict=True)
            )
        ]
        train(number, ask_syncer, work, every, pace, doing, state, parts)
    except OSError:
        return  # the syncer has ended


def train(number, ask, work, every, pace, doing, state, parts):
    """Take inner steps for as long as there is a syncer."""
    due = time.monotonic()
    place = int(1000 * due)  # one that returns reads on at another place
    while True:
        doing[number] = DELIVERING if any(part.sent for part in parts) else COMPUTING
        _, tokens, gradient = work.gradient(state.weights, number, place)
        state.apply(gradient, ())
        place += 1
        due = max(due + pace, time.monotonic() - pace)  # a late step may be made up for
        time.sleep(max(0.0, due - time.monotonic()))
        for part in parts:
            part.steps, part.counted = part.steps + 1, part.counted + 1
            part.tokens += tokens
            if part.sent is None and part.steps >= every:
                part.deliver(ask, number, state.weights)
            if part.sent is not None and part.sent.answer is not None:
                state.weights = part.take(state.weights)
