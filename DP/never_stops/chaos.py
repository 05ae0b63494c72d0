"""Chaos: eight learners, a fault every few seconds, and a loss that falls all the same.

    python chaos.py                          a minute, with a grid of learners and time
    python chaos.py --seconds 600 --every 10 --record      ten minutes; writes chaos.json

In the grid a column is a moment: # computing, + delivering meanwhile, h healing, z frozen, . gone.
What a fault costs is predicted from the same faults before the first of them happens, and held
against the inner steps that were merged.
"""

import argparse
import functools
import json
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import torch
from crew import Crew
from learner import COMPUTING, DELIVERING, HEALING, learn
from syncer import Syncer
from work import Work, save_text

from helpers.cost.goodput import share_at_work

LEARNERS, PACE, EVERY = 8, 0.25, 8  # learners; seconds of an inner step; steps to a delivery
QUORUM, GRACE, OLDEST = 3, 2.0, 4
FRAGMENTS = 4
LETTERS = {0: ".", HEALING: "h", COMPUTING: "#", DELIVERING: "+"}
RECORDED = Path(__file__).with_name("chaos.json")


def draw_faults(seconds, every, seed):
    """Draw [(when, "kill" or "freeze", learner, seconds until it's started or thawed)]."""
    random, faults, free = Random(seed), [], [0.0] * LEARNERS
    when = every
    while when < seconds - every:
        learner = random.choice([r for r in range(LEARNERS) if free[r] <= when])
        away = random.uniform(0.3, 1.2) * every
        faults.append((when, random.choice(["kill", "freeze"]), learner, away))
        free[learner] = when + away + every  # time to come back before it's hit again
        when += random.uniform(0.5, 1.5) * every
    return faults


def predicted(faults, seconds, start):
    """Return the goodput that these faults leave.

    start: seconds from starting a process to its first step. A kill also loses what hasn't been
    delivered, half of a delivery on average, and at the end all learners have that much in hand.
    """
    half = EVERY * PACE / 2
    away = [(t, r, a + (start + half if kind == "kill" else 0)) for t, kind, r, a in faults]
    return share_at_work(away, LEARNERS, seconds) - half / seconds


def all_there(faults, seconds, start):
    """Return the share of the time in which no learner is away, by these faults."""
    missing = end = 0.0
    for when, kind, _, away in faults:  # in order
        until = min(seconds, when + away + (start if kind == "kill" else 0))
        missing += max(0.0, until - max(when, end))
        end = max(end, until)
    return 1 - missing / seconds


def chaos(seconds, every, seed=0, looks=30, say=None):
    """Run learners through faults; return what happened as plain data.

    looks: how often the merged weights are judged. say(letters, facts): called then, with a letter
        for each learner, and with the loss and the last merge's learners in words.
    """
    faults = draw_faults(seconds, every, seed)
    with tempfile.TemporaryDirectory() as folder:
        text = str(Path(folder) / "text.npy")
        save_text(text, LEARNERS + 1, 3000)  # the last row is for judging
        work = functools.partial(Work, LEARNERS, dtype=torch.float32, text=text)
        judge = work()
        crew_of = functools.partial(Crew, learn)
        return _run(judge, work, crew_of, faults, seconds, looks, say)


def _run(judge, work, crew_of, faults, seconds, looks, say):
    crew_alive = []
    syncer = Syncer(judge.start(), QUORUM, GRACE, OLDEST, lambda: crew_alive, FRAGMENTS)
    with crew_of(syncer.address, work, EVERY, PACE, FRAGMENTS) as crew:
        doing = crew.shared(LEARNERS)
        for learner in range(LEARNERS):
            crew.start(learner, doing=doing)
        crew.wait_for(lambda: min(doing) >= COMPUTING, "the start", syncer.server)
        start = rehearse(crew, doing, syncer.server)
        crew_alive[:] = range(LEARNERS)
        begun, steps = time.monotonic(), syncer.steps
        goodput = predicted(faults, seconds, start)
        events = sorted(
            [(t, kind, r) for t, kind, r, _ in faults]
            + [(t + a, {"kill": "start", "freeze": "thaw"}[kind], r) for t, kind, r, a in faults]
        )
        grid, losses = [], [(0.0, held_out(judge, syncer.weights))]
        while (now := time.monotonic() - begun) < seconds:
            while events and events[0][0] <= now:
                _, action, learner = events.pop(0)
                if action == "kill":
                    doing[learner] = 0
                    crew.kill(learner)
                    doing[learner] = 0
                elif action == "start":
                    crew.start(learner, doing=doing)
                else:
                    getattr(crew, action)(learner)
            syncer.server.check()
            crew.check()
            crew_alive[:] = crew.alive()
            if now >= len(grid) * seconds / min(seconds * 4, 300):
                column = [LETTERS[doing[r]] for r in range(LEARNERS)]
                grid.append("".join("z" if r in crew.frozen else c for r, c in enumerate(column)))
            if now >= len(losses) * seconds / looks:
                losses.append((round(now, 2), held_out(judge, syncer.weights)))
                if say:
                    quorum = len(syncer.merges[-1]) if syncer.merges else 0
                    say(grid[-1], f" loss {losses[-1][1]:.2f}, merged from {quorum} learners")
            time.sleep(0.02)
        steps = syncer.steps - steps
        syncer.stop()
    left = crew.alive()
    losses.append((seconds, held_out(judge, syncer.weights)))
    stale = np.bincount([late for merge in syncer.merges for late in merge.values()]).tolist()
    return {
        "seconds": seconds,
        "faults": [[round(t, 2), kind, r, round(a, 2)] for t, kind, r, a in faults],
        "start": round(start, 3),
        "steps": round(steps, 2),
        "predicted": round(goodput, 4),
        "counted": round(steps / (LEARNERS * seconds / PACE), 4),
        "losses": [[t, round(loss, 4)] for t, loss in losses],
        "merges": [len(merge) for merge in syncer.merges],
        "staleness": stale,
        "dropped": round(syncer.dropped, 2),
        "left_running": len(left),
        "grid": ["".join(row) for row in zip(*grid, strict=True)],
    }


def rehearse(crew, doing, server, times=2):
    """Kill and start a learner, and return the seconds from its start to its first step."""
    spent = []
    for learner in range(times):
        crew.kill(learner)
        doing[learner] = 0
        begun = time.monotonic()
        crew.start(learner, doing=doing)
        crew.wait_for(lambda r=learner: doing[r] >= COMPUTING, "its first step", server)
        spent.append(time.monotonic() - begun)
    return sum(spent) / times


def held_out(judge, weights):
    """Return the loss on a text that no learner reads."""
    return judge.loss(weights, judge.text[LEARNERS, :64])


def recorded():
    """Return what `--record` has measured."""
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def tell(found):
    """Return the numbers of a run as lines of text."""
    first, last = found["losses"][0][1], found["losses"][-1][1]
    kills = sum(kind == "kill" for _, kind, *_ in found["faults"])
    sizes, stale = dict(sorted(Counter(found["merges"]).items())), found["staleness"]
    lines = [
        f"{len(found['faults'])} faults, {kills} of them kills, in {found['seconds']:.0f} s",
        f"held-out loss {first:.2f} before and {last:.2f} after",
        f"goodput predicted {found['predicted']:.1%}, counted {found['counted']:.1%}",
        f"merges of so many learners: {sizes}",
        f"deliveries up to date: {stale[0] / sum(stale):.0%}, the others up to {len(stale) - 1} "
        f"versions behind; {found['dropped']:.0f} inner steps came too late to count",
        f"processes left running: {found['left_running']}",
    ]
    return "\n".join(lines)


def main():
    flags = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    flags.add_argument("--seconds", type=float, default=60)
    flags.add_argument("--every", type=float, default=4, help="seconds from fault to fault (4)")
    flags.add_argument("--seed", type=int, default=0)
    flags.add_argument("--record", action="store_true", help="write chaos.json")
    options = flags.parse_args()
    found = chaos(options.seconds, options.every, options.seed, say=print)
    print(*found["grid"], tell(found), sep="\n")
    if options.record:
        RECORDED.write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
