"""A replica: it computes gradients, takes the mean over those present, and heals from a peer.

What a replica has to know is its `State`. All replicas that have applied the same means hold the
same state, so any of them can give it to one that returns.
"""

import socket
import threading
import time
from pathlib import Path

import numpy as np
from rules import State, heal
from wire import Refused, Server, ask, receive, send

BEAT = 0.1  # seconds from one heartbeat to the next


class TooOld(Exception):
    """A state traveled for longer than the lighthouse remembers steps."""


class Replica:
    """One process of the training.

    pace: seconds that a gradient takes at least, as if the model were larger.
    hold: where to stop for good, so that it can be killed just there.
    """

    def __init__(self, number, lighthouse, work, pace=0.0, hold=()):
        self.number, self.lighthouse, self.work = number, lighthouse, work
        self.pace, self.hold, self.doing = pace, hold, "starting"
        self.held = ""
        self.state, self.lock = None, threading.Lock()
        self.ticket = self.beat()

    def beat(self):
        """Say from now on that this replica is alive; return its ticket."""
        connection = socket.create_connection(self.lighthouse)
        file = connection.makefile("rwb")
        self.serving = Server(self.give_state, connection.getsockname()[0])
        send(file, verb="alive", replica=self.number, address=self.serving.address)
        ticket = receive(file)["ticket"]

        def heartbeats():
            try:
                while True:
                    send(file, doing=self.held or self.doing)
                    time.sleep(BEAT)
            except OSError:
                connection.close()  # the lighthouse has ended

        self.beating = threading.Thread(target=heartbeats, daemon=True)
        self.beating.start()
        return ticket

    def stay_if_held(self, where):
        if where in self.hold:
            self.held = where
            time.sleep(3600)

    # Healing

    def give_state(self, message, file):
        """Answer a peer that heals: with the state between two steps, never in the middle of one.

        Only the references are taken under the lock: `apply` makes new arrays.
        """
        with self.lock:
            state = dict(vars(self.state))
        state["places"] = list(state["places"].items())
        if "serving" in self.hold:
            file.write(b"[{")  # half of an answer
            file.flush()
            self.stay_if_held("serving")
        return state

    def heal(self):
        """Return the state that the others have; before the first step, that of the start."""
        self.doing = "healing"
        self.stay_if_held("healing")
        peers = self.peers()
        if peers is None:  # nobody has taken a step yet: all begin alike
            return State.new(self.work.start())
        while True:
            try:
                return heal(self.peers, self.fetch, self.missed)
            except TooOld:
                continue

    def peers(self):
        """Ask the lighthouse who holds the latest state; wait while all of them are frozen."""
        found = {"wait": True}
        while "wait" in found:
            found = ask(self.lighthouse, verb="source", replica=self.number)
            time.sleep(BEAT if "wait" in found else 0)
        return found["addresses"]

    def fetch(self, peer):
        state = ask(tuple(peer), patience=10)
        return state | {"places": dict(state["places"])}

    def missed(self, step):
        """Return (mean, counted) of a step that is closed; None if it's the open one."""
        past = self.ask_for_mean(step)
        if "heal" in past:
            raise TooOld(f"step {step}")
        return (past["mean"], past["counted"]) if "mean" in past else None

    def ask_for_mean(self, step, **batch):
        mine = {"replica": self.number, "ticket": self.ticket, "step": step}
        return ask(self.lighthouse, verb="mean", **mine, **batch)

    # Training

    def train(self):
        """Train until the last step is done; return the state."""
        self.state = self.heal()
        now, last = 0, None  # where the others are, and where they end, as far as it knows
        while self.state.step != last:
            self.doing = "computing" if self.state.step >= now else "catching up"
            batch = {}
            if self.state.step >= now:
                due = time.monotonic() + self.pace
                place = self.state.places.get(self.number, 0)
                ids = self.work.batch(self.number, place)
                loss, tokens, gradient = self.work.gradient(self.state.weights, ids)
                batch = {"place": place, "tokens": tokens, "loss": loss, "gradient": gradient}
                time.sleep(max(0.0, due - time.monotonic()))
            self.doing = "syncing"
            answer = self.ask_for_mean(self.state.step, **batch)
            now, last = answer["now"], answer["last"]
            if "mean" in answer:
                with self.lock:
                    self.state.apply(answer["mean"], answer["counted"])
            elif "heal" in answer:
                self.state = self.heal()
        return self.state


def run(number, lighthouse, work, folder, pace=0.0, hold=()):
    """Be a replica in a process of its own, until the lighthouse ends.

    work: makes what computes gradients. folder: where the state of the end is written.
    """
    try:
        replica = Replica(number, lighthouse, work(), pace, hold)
        state = replica.train()
        np.savez(Path(folder) / f"{number}.npz", weights=state.weights, step=state.step)
        replica.doing = "done"  # and still there, for those that are behind
        replica.beating.join()
    except Refused as error:
        Path(folder, f"{number}.txt").write_text(str(error), encoding="utf-8")
    except OSError:
        pass  # the lighthouse has ended
