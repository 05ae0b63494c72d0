"""A replica: it computes gradients, takes the mean over those present, and heals from a peer.

All that have applied the same means hold the same `State`: any can give it to one that returns.
"""

import threading
import time
from multiprocessing.connection import Client

from rules import State, heal
from wire import Refused, Server, ask

BEAT = 0.1  # seconds from one heartbeat to the next


class TooOld(Exception):
    """A state traveled for longer than the lighthouse remembers steps."""


class Replica:
    """One process of the training. pace: seconds that a gradient takes at least."""

    def __init__(self, number, lighthouse, work, pace=0.0):
        self.number, self.lighthouse, self.work, self.pace = number, lighthouse, work, pace
        self.done = False
        self.state, self.lock = None, threading.Lock()
        self.serving, self.heart = Server(self.give_state), Client(lighthouse)
        self.heart.send({"verb": "alive", "replica": number, "address": self.serving.address})
        self.heart.recv()  # the lighthouse has noted it
        self.beating = threading.Thread(target=self.beat, daemon=True)
        self.beating.start()

    def beat(self):
        """Say that this replica is alive, until the lighthouse has ended."""
        try:
            while True:
                self.heart.send(self.done)
                time.sleep(BEAT)
        except OSError:
            self.heart.close()

    # Healing

    def give_state(self, connection):
        """Answer a peer that heals: with the state between two steps, never inside of one."""
        with self.lock:  # for the references only: `apply` makes new arrays
            return vars(self.state) | {"places": dict(self.state.places)}

    def heal(self):
        """Return the state that the others have; before the first step, that of the start."""
        if self.peers() is None:  # nobody has taken a step yet: all begin alike
            return State.new(self.work.start())
        while True:
            try:
                return heal(self.peers, lambda peer: ask(peer, patience=10), self.missed)
            except TooOld:
                continue

    def peers(self):
        """Ask the lighthouse who holds the latest state; wait while all of them are frozen."""
        while (found := ask(self.lighthouse, verb="source", replica=self.number)) == "wait":
            time.sleep(BEAT)
        return found

    def missed(self, step):
        """Return (mean, counted) of a step that is closed; None if it's the open one."""
        past = self.ask_for_mean(step)
        if "heal" in past:
            raise TooOld(f"step {step}")
        return (past["mean"], past["counted"]) if "mean" in past else None

    def ask_for_mean(self, step, **batch):
        mine = {"replica": self.number, "address": self.serving.address, "step": step}
        return ask(self.lighthouse, verb="mean", **mine, **batch)

    # Training

    def train(self):
        """Train until the last step is done; return the weights."""
        self.state = self.heal()
        now, last = 0, None  # where the others are, and where they end, as far as it knows
        while self.state.step != last:
            batch = {}
            if self.state.step >= now:
                due = time.monotonic() + self.pace
                place = self.state.places.get(self.number, 0)
                ids = self.work.batch(self.number, place)
                loss, tokens, gradient = self.work.gradient(self.state.weights, ids)
                batch = {"place": place, "tokens": tokens, "loss": loss, "gradient": gradient}
                time.sleep(max(0.0, due - time.monotonic()))
            answer = self.ask_for_mean(self.state.step, **batch)
            now, last = answer["now"], answer["last"]
            if "mean" in answer:
                with self.lock:
                    self.state.apply(answer["mean"], answer["counted"])
            elif "heal" in answer:
                self.state = self.heal()
        return self.state.weights


def run(number, lighthouse, work, pace=0.0):
    """Be a replica in a process of its own, until the lighthouse ends.

    work: makes what computes gradients. Returns the weights; or why it was refused; or None, if the
    lighthouse has ended before.
    """
    try:
        replica = Replica(number, lighthouse, work(), pace)
        weights = replica.train()
        replica.done = True  # and still there, for those that are behind
        replica.beating.join()
        return weights
    except Refused as error:
        return str(error)
    except OSError:
        return None
