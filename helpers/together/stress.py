"""Forty learners on this machine: half of them are killed, and a few are malicious."""

import asyncio
import random
import tempfile
import threading
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import psutil

from helpers.together.lab import Refused, classroom
from helpers.together.roster import Roster, new_code
from helpers.together.server import Host
from helpers.together.table import Recipe, Table

EVERY, PACE = 16, 0.25  # inner steps to a delivery, and seconds of one: forty share two cores


def shout(delta):
    """The opposite of what was learned, a hundred times as large."""
    return -100 * delta


def noise(delta):
    """Numbers that have nothing to do with the model."""
    return np.random.default_rng().standard_normal(len(delta)).astype(np.float32)


def no_numbers(delta):
    """NaN everywhere: what a host without checks would never recover from."""
    return np.full_like(delta, np.nan)


MALICE = (shout, noise, no_numbers)


def learner(number, address, code, malicious, pace):
    """Be a learner in a process of its own; the first few spoil what they deliver."""
    from helpers.together.client import Learner, Line

    spoil = MALICE[number % len(MALICE)] if number < malicious else None
    line = Line(address, lambda sentence: None)
    try:
        Learner(line, code, f"laptop {number}", pace, number, spoil).learn()
    except Refused:
        return  # the host has noticed


def stress(learners=40, malicious=3, killed=0.5, seconds=60.0, guard="clip", pace=PACE) -> str:
    """Run a class on this machine; return in words what came of it.

    killed: the share of the honest learners that is killed, one after the other, in the middle.
    """
    crew_of = import_module("crew").Crew
    work, draw = classroom.Stories("tiny"), random.Random(0)
    recipe = Recipe("tiny", EVERY, classroom.BATCH * (work.options.seq_l - 1), guard=guard)
    with tempfile.TemporaryDirectory() as folder:
        table = Table(recipe, work.start(), Roster(new_code(), learners), Path(folder, "class"))
        host, end = Host(table, work, "page"), threading.Event()
        address = f"http://127.0.0.1:{host.listen(0, '127.0.0.1')}"
        thread = threading.Thread(target=lambda: asyncio.run(host.run(end.is_set)), daemon=True)
        thread.start()
        memory, most, here, begun, first = psutil.Process(), 0, 0, time.monotonic(), None
        before = memory.memory_info().rss
        with crew_of(learner, address, table.roster.code, malicious, pace) as crew:
            for number in range(learners):
                crew.start(number)
            honest = [*range(min(malicious, learners), learners)]
            doomed = draw.sample(honest, round(killed * len(honest)))
            kills = [(seconds * (0.4 + 0.3 * i / len(doomed)), r) for i, r in enumerate(doomed)]
            while (now := time.monotonic() - begun) < seconds and thread.is_alive():
                while kills and kills[0][0] <= now:
                    crew.kill(kills.pop(0)[1])
                merged = [one for one in [*table.roster.laptops.values()] if one.tokens]
                first = now if first is None and len(merged) >= min(3, learners) else first
                most, here = max(most, memory.memory_info().rss), len(table.roster.present())
                time.sleep(0.1)
            crew.check()
            ran, up, down = time.monotonic() - begun, table.up, table.down
        end.set()
        thread.join()
        loss = work.judge(table.merges.weights)
    start = classroom.recorded("tiny")[0][1]
    sizes = [len(merge) for merge in table.merges.merges]
    third = "not before the end" if first is None else f"after {first:.0f} s"
    return "\n".join(
        [
            f"{learners} learners for {ran:.0f} s, {malicious} of them malicious, "
            f"{len(doomed)} killed; {here} were here at the end. Merges: {guard}",
            f"loss {start:.2f} before and {loss:.2f} after {table.merges.tokens:,.0f} tokens "
            f"in {table.versions} merges (the last {len(sizes)} of {min(sizes, default=0)} "
            f"to {max(sizes, default=0)} learners)",
            f"the third learner's first merge: {third}",
            f"to the host {up / ran / 1e6:.2f} MB/s, from it {down / ran / 1e6:.2f} MB/s; "
            f"its memory grew by {(most - before) / 1e6:.0f} MB, "
            f"to {most / 1e6:.0f} MB with torch in it",
        ]
    )
