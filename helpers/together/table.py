"""The host without a network: deliveries and their tickets, merges, and the file that's resumed.

Everything runs in one thread. A request is a call of a method; `tick` merges what is due.
"""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from safetensors import safe_open

from helpers.cost import bill
from helpers.files import write_whole
from helpers.together.lab import Merges
from helpers.together.payloads import Wrong, facts_of, header_of, pack, size_of, text, unpack, whole
from helpers.together.roster import Laptop, Roster

MOST_STEPS = 100  # intervals that a learner may deliver at once: one that slept has as many
WATTS = 30.0  # of a laptop that computes: an assumption, not a measurement


@dataclass(frozen=True)
class Recipe:
    """What a class trains, and how: sent to whoever joins.

    model: one that both sides know. every: inner steps to a delivery. step: tokens of an inner one.
    guard: one of `guards.GUARDS`. grace: seconds after the quorum. oldest: versions behind.
    """

    model: str
    every: int
    step: int
    fragments: int = 4
    guard: str = "clip"
    grace: float = 3.0
    oldest: int = 3


class Table:
    """The state of a class.

    losses: [[tokens, loss]]. up, down: bytes of deliveries, and of what was answered.
    """

    def __init__(self, recipe: Recipe, weights: np.ndarray, roster: Roster, file: Path):
        self.recipe, self.roster, self.file = recipe, roster, file
        self.merges = Merges(
            weights.astype(np.float32),
            recipe.fragments,
            recipe.guard,
            roster.present,
            recipe.grace,
            recipe.oldest,
        )
        self.done: dict[str, str] = {}  # "learner part": the ticket that was merged last
        self.losses: list[list[float]] = []
        self.seconds, self.ended, self.story = 0.0, False, ""
        self.up, self.down, self.begun = 0, 0, time.monotonic()

    # --- what learners ask for -------------------------------------------------------------------

    def join(self, facts: dict, address: str) -> dict:
        laptop = self.roster.join(facts, address)
        return {"number": laptop.number, "name": laptop.name, "secret": laptop.secret} | asdict(
            self.recipe
        )

    def weights(self) -> bytes:
        versions = [fragment.version for fragment in self.merges.fragments]
        return pack({"weights": self.merges.weights}, versions=versions)

    def limit(self) -> int:
        """Return how many bytes a delivery may have."""
        return size_of(max(len(fragment.weights) for fragment in self.merges.fragments))

    def deliver(self, laptop: Laptop, data: bytes) -> dict:
        """Take a delivery; its merge comes later. `kept` is false for one that is too late.

        Raises:
            Wrong: what's wrong with it.
        """
        facts = facts_of(header_of(data))
        part = whole(facts, "part", len(self.merges.fragments) - 1)
        fragment = self.merges.fragments[part]
        delta = unpack(data, {"delta": len(fragment.weights)})[0]["delta"]
        steps = whole(facts, "steps", MOST_STEPS * self.recipe.every, 1)
        found = {
            "base": whole(facts, "base", fragment.version),
            "steps": steps,
            "tokens": whole(facts, "tokens", steps * self.recipe.step, 1),
            "delta": delta,
            "ticket": text(facts, "ticket", 32),
        }
        if self.done.get(f"{laptop.number} {part}") == found["ticket"]:
            return {"kept": True}  # sent again, because the answer was lost
        return {"kept": self.merges.keep(laptop.number, fragment, found)}

    def merged(self, laptop: Laptop, part: int, ticket: str) -> bytes | None:
        """Return a fragment as it is since a delivery was merged, or None as long as it waits.

        An empty ticket asks for the fragment as it is now.

        Raises:
            Wrong: the host knows nothing of the delivery (it was killed meanwhile): send it again.
        """
        fragment = self.merges.fragments[part]
        if ticket and self.done.get(f"{laptop.number} {part}") != ticket:
            if fragment.waiting.get(laptop.number, {}).get("ticket") == ticket:
                return None
            raise Wrong("the host has lost this delivery: send it again", 409)
        return pack({"weights": fragment.weights}, version=fragment.version)

    # --- merging, saving -------------------------------------------------------------------------

    def tick(self) -> bool:
        """Merge what is due and save it before anybody hears of it; return whether it was any."""
        now = time.monotonic()
        self.seconds, self.begun = self.seconds + now - self.begun, now
        merged = False
        with self.merges.changed:
            for part, fragment in enumerate(self.merges.fragments):
                for learner, one in self.merges.merge_if_due(fragment).items():
                    merged = True
                    self.done[f"{learner} {part}"] = one["ticket"]
                    if laptop := self.roster.laptops.get(learner):
                        laptop.tokens += one["tokens"] / len(self.merges.fragments)
        if merged:
            self.save()
        return merged

    @property
    def versions(self) -> int:
        """How often a fragment has been merged."""
        return sum(fragment.version for fragment in self.merges.fragments)

    def save(self) -> None:
        """Replace the file by one with everything that the host goes on from."""
        merges = self.merges
        arrays = {"weights": merges.weights}
        arrays["velocity"] = np.concatenate([one.velocity for one in merges.fragments])
        laptops = [
            [one.number, one.name, one.secret, one.tokens, one.here]
            for one in self.roster.laptops.values()
        ]
        known = {one[0] for one in laptops}
        self.done = {key: t for key, t in self.done.items() if int(key.split()[0]) in known}
        facts = {
            "recipe": asdict(self.recipe),
            "code": self.roster.code,
            "versions": [fragment.version for fragment in merges.fragments],
            "counts": [merges.tokens, merges.steps, merges.dropped, self.seconds],
            "laptops": laptops,
            "done": self.done,
            "losses": self.losses,
        }
        write_whole(self.file, pack(arrays, **facts))

    @classmethod
    def resume(cls, file: Path, most: int) -> "Table":
        """Return the table that was saved in a file, which is the teacher's own."""
        with safe_open(file, "np") as saved:
            facts = json.loads(saved.metadata()["facts"])
            weights, velocity = saved.get_tensor("weights"), saved.get_tensor("velocity")
        roster = Roster(facts["code"], most)
        for laptop_number, name, secret, tokens, here in facts["laptops"]:
            heard = roster.clock()  # as if it were here: it finds the host within seconds
            roster.keep(Laptop(laptop_number, name, secret, heard, tokens, here=here))
        table = cls(Recipe(**facts["recipe"]), weights, roster, file)
        place = 0
        for fragment, version in zip(table.merges.fragments, facts["versions"], strict=True):
            size = len(fragment.weights)
            fragment.version, fragment.velocity = version, velocity[place : place + size]
            place += size
        merges = table.merges
        merges.tokens, merges.steps, merges.dropped, table.seconds = facts["counts"]
        table.done, table.losses = facts["done"], facts["losses"]
        return table

    # --- what people see -------------------------------------------------------------------------

    def note_loss(self, tokens: float, loss: float) -> None:
        """Note a loss of the merged weights; of many, every second is left out."""
        self.losses.append([round(tokens), round(loss, 4)])
        if len(self.losses) > 400:
            self.losses = self.losses[::2]

    def cost(self) -> str:
        """Return in words what the class's laptops have drawn."""
        hours = sum(one.here for one in self.roster.laptops.values()) / 3600
        kwh = bill(hours, watts=WATTS, pue=1.0).kwh
        return f"{kwh:.3f} kWh, if a laptop that computes draws {WATTS:g} W"

    def seen(self) -> dict:
        """Return what the projector shows, as plain data."""
        laptops = sorted(self.roster.laptops.values(), key=lambda one: one.number)
        here = set(self.roster.present())
        return {
            "laptops": [
                {
                    "name": one.name,
                    "doing": one.doing if one.number in here else "away",
                    "speed": round(one.speed) if one.number in here else 0,
                    "tokens": round(one.tokens),
                }
                for one in laptops
            ],
            "tokens": round(self.merges.tokens),
            "merges": self.versions,
            "seconds": round(self.seconds),
            "losses": self.losses,
            "story": self.story,
            "cost": self.cost(),
            "ended": self.ended,
        }
