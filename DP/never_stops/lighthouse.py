"""The lighthouse: which replicas are alive, and the mean of each step over those present.

A replica keeps one connection open and says on it, several times a second, that it is alive. If the
connection closes, the replica is dead; if it falls silent, the replica is frozen or cut off. In
both cases the step goes on without it. The lighthouse itself keeps no weights.
"""

import threading
import time
from collections import deque

import numpy as np
from rules import mean_over_present
from wire import Refused, Server

KEPT = 256  # means of past steps, for replicas that were away


class Lighthouse:
    """Close each step as soon as every replica that is present has sent its gradient.

    Attributes:
        address: where replicas find it.
        closed: the number of steps whose mean is known.
        last: how many steps there are; None until somebody says so.
        counted: for each closed step {replica: place}, the batches whose gradients are in its mean.
    """

    def __init__(self, replicas, silence=5.0):
        """Listen. replicas: how many step 0 waits for.

        silence: seconds after which a replica that says nothing is taken for frozen.
        """
        self.replicas, self.silence = replicas, silence
        self.closed, self.last, self.counted, self.losses = 0, None, [], []
        self.past = deque(maxlen=KEPT)  # (mean, {replica: place}) of the last closed steps
        self.open = {}  # replica: its message for the step that is open
        self.present = {}  # replica: its address, and the step in which it takes part
        self.ended, self.changed = False, threading.Condition()
        verbs = {"alive": self.alive, "source": self.source, "mean": self.mean}
        self.server = Server(lambda caller, verb, **told: verbs[verb](caller, **told))
        self.address = self.server.address

    # Who is there

    def alive(self, caller, replica, address):
        """Keep a replica among those present for as long as its heartbeats come."""
        me = {"address": address, "at": None, "heard": time.monotonic(), "done": False}
        with self.changed:
            self.present[replica] = me
        try:
            caller.send("noted")
            while not self.ended:
                me["done"] = caller.recv()
                me["heard"] = time.monotonic()
        finally:
            with self.changed:
                if self.present.get(replica) is me:
                    del self.present[replica]
                self.changed.notify_all()

    def done(self, replica):
        """Return whether a replica says that it has all steps."""
        return self.present.get(replica, {}).get("done", False)

    def heard(self, me):
        return time.monotonic() - me["heard"] < self.silence

    def up_to_date(self):
        """Return the replicas that take part in the open step and aren't silent."""
        return [r for r, me in self.present.items() if me["at"] == self.closed and self.heard(me)]

    def source(self, caller, replica):
        """Say where the replicas are that hold the latest weights; None before step 1."""
        with self.changed:
            if not self.closed:
                return None
            holders = {r: me for r, me in self.present.items() if me["at"] is not None}
            holders.pop(replica, None)
            ready = [r for r, m in holders.items() if self.heard(m) and m["at"] >= self.closed - 1]
            if ready:
                return [holders[r]["address"] for r in sorted(ready)]
            if holders:
                return "wait"  # they are frozen, or behind: one may come back
        raise Refused(
            f"no replica is left that holds the weights of step {self.closed}: the last one has "
            "ended. Start again from the last checkpoint"
        )

    # The mean over those present

    def mean(self, caller, replica, address, step, place=0, tokens=0, loss=0.0, gradient=None):
        """Return the mean of a step: of a closed one at once, of the open one when it closes."""
        with self.changed:
            me = self.present.get(replica, {})
            if me.get("address") != address:
                raise Refused(f"another process has taken the place of this replica {replica}")
            me["at"] = step
            if step == self.closed and tokens:
                sent = {"place": place, "tokens": tokens, "loss": loss, "gradient": gradient}
                self.open.setdefault(replica, sent)
            while step == self.closed:
                if self.ended or not tokens or self.closed == self.last:
                    return {"now": self.closed, "last": self.last}
                if self.all_have_sent():
                    self.close()
                else:
                    self.changed.wait(0.05)
            if step > self.closed:
                raise Refused(f"step {step} is ahead of the lighthouse, which is at {self.closed}")
            if self.closed - step > len(self.past):
                return {"now": self.closed, "last": self.last, "heal": True}  # away for too long
            mean, counted = self.past[step - self.closed]
            me["at"] = step + 1
        return {"now": self.closed, "last": self.last, "mean": mean, "counted": counted}

    def all_have_sent(self):
        needed = 1 if self.closed else self.replicas
        return len(self.open) >= needed and set(self.up_to_date()) <= set(self.open)

    def close(self):
        """Close the open step: the mean of all gradients, weighted by their tokens."""
        sent = {replica: self.open[replica] for replica in sorted(self.open)}
        places = {replica: one["place"] for replica, one in sent.items()}
        self.past.append((mean_over_present(sent), places))
        self.counted.append(places)
        losses, tokens = zip(*((one["loss"], one["tokens"]) for one in sent.values()), strict=True)
        self.losses.append(np.average(losses, weights=tokens))
        self.closed, self.open = self.closed + 1, {}
        self.changed.notify_all()

    def stop(self):
        """End: replicas notice it, because nobody answers any more."""
        with self.changed:
            self.ended = True
            self.changed.notify_all()
        self.server.listener.close()
