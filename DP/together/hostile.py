"""What each way to merge survives: eight learners, of which none to three are hostile.

    python hostile.py             prints the table
    python hostile.py --record    writes hostile.json; docs/security.md has the table

Each learner starts a round with the merged weights and delivers after 16 inner steps. A hostile one
computes as honestly as the others and spoils what it delivers.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from classroom import State, Stories
from rules import merge

from helpers.together.guards import GUARDS, guarded

LEARNERS, ROUNDS, EVERY = 8, 20, 16
RECORDED = Path(__file__).with_name("hostile.json")
# Who is hostile, and what it delivers in place of its change; draw: normal numbers.
ATTACKS = {
    "nobody": (0, None),
    "1 delivers minus 100 times its change": (1, lambda delta, draw: -100 * delta),
    "2 deliver noise as long as their change": (
        2,
        lambda delta, draw: draw * np.linalg.norm(delta) / np.linalg.norm(draw),
    ),
    "2 deliver minus their change": (2, lambda delta, draw: -delta),
    "3 deliver minus 5 times their change": (3, lambda delta, draw: -5 * delta),
}


def train(guard, hostile=0, spoil=None, rounds=ROUNDS):
    """Return the held-out loss after so many rounds."""
    learners = [Stories("tiny", seed) for seed in range(LEARNERS)]
    weights = learners[0].start()
    velocity, draw = 0 * weights, np.random.default_rng(0)
    states = [State.new(weights) for _ in learners]
    for version in range(rounds):
        deliveries = {}
        for number, (work, state) in enumerate(zip(learners, states, strict=True)):
            state.weights, tokens = weights, 0
            for place in range(EVERY):
                _, read, gradient = work.gradient(state.weights, number, place)
                state.apply(gradient, ())
                tokens += read
            delta = state.weights - weights
            if number < hostile:
                noise = draw.standard_normal(len(delta)).astype(np.float32)
                delta = spoil(delta, noise).astype(np.float32)
            deliveries[number] = {"base": version, "tokens": tokens, "delta": delta}
        weights, velocity = merge(
            weights, velocity, guarded(deliveries, guard), version, LEARNERS // 2, oldest=0
        )
    return learners[0].judge(weights)


def recorded():
    """Return what `--record` has measured: {attack: {guard: loss}}."""
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def table(found):
    """Return the losses as a table in Markdown."""
    rows = ["| hostile, of eight | " + " | ".join(f"`{g}`" for g in GUARDS) + " |"]
    rows.append("|---|" + "---|" * len(GUARDS))
    for attack, losses in found.items():
        rows.append(f"| {attack} | " + " | ".join(f"{losses[g]:.2f}" for g in GUARDS) + " |")
    return "\n".join(rows)


def main():
    flags = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    flags.add_argument("--record", action="store_true", help="write hostile.json")
    options = flags.parse_args()
    with np.errstate(all="ignore"):
        found = {
            attack: {guard: round(train(guard, *how), 4) for guard in GUARDS}
            for attack, how in ATTACKS.items()
        }
    print(table(found))
    if options.record:
        RECORDED.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
