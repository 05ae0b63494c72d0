"""Who is there: the code, nicknames, secrets, how often each may ask, and who has fallen silent."""

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from helpers.together.payloads import Wrong, number, text, whole

LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"  # none that looks like another from the last row
SILENT = 8.0  # seconds after which a learner counts as away; it's heard every two
STATES = ("starting", "computing", "delivering")
FASTEST = 1e7  # tokens a second that a learner may claim


def new_code() -> str:
    """Return six letters to type: 887 million codes."""
    return "".join(secrets.choice(LETTERS) for _ in range(6))


class Bucket:
    """So many requests a second, and so many at once: `take` says whether one more may come."""

    def __init__(self, rate: float, most: float, clock: Callable[[], float] = time.monotonic):
        self.rate, self.most, self.clock = rate, most, clock
        self.left, self.at = most, clock()

    def take(self) -> bool:
        now = self.clock()
        self.left, self.at = min(self.most, self.left + self.rate * (now - self.at)), now
        self.left -= (allowed := self.left >= 1)
        return allowed


@dataclass
class Laptop:
    """A learner as the host knows it. tokens: merged ones. speed: tokens a second, as it claims."""

    number: int
    name: str
    secret: str
    heard: float
    tokens: float = 0.0
    speed: float = 0.0
    doing: str = STATES[0]
    here: float = 0.0  # seconds it has been heard
    bucket: Bucket = field(default_factory=lambda: Bucket(20, 80))


class Roster:
    """All learners that have ever joined; most: of them at one time."""

    def __init__(self, code: str, most: int, clock: Callable[[], float] = time.monotonic):
        self.code, self.most, self.clock = code, most, clock
        self.laptops: dict[int, Laptop] = {}
        self.by_secret: dict[str, Laptop] = {}
        self.guesses: dict[str, Bucket] = {}  # of an address that has sent a wrong code
        self.next = 0

    def join(self, facts: dict, address: str = "") -> Laptop:
        """Return a learner that has the code; one that's away comes back under its name.

        Raises:
            Wrong: another code, too many guesses, no proper name, or no room.
        """
        self.check(text(facts, "code", 20), address)
        name = " ".join(text(facts, "name", 16).split()) or "nobody"
        away = [one for one in self.laptops.values() if not self.is_here(one)]
        found = next((one for one in away if one.name == name), None)
        if found is None:
            if len(self.laptops) - len(away) >= self.most:
                raise Wrong(f"{self.most} learners are here, and no more may join", 403)
            if len(away) >= 3 * self.most:  # whoever has the code can't fill the memory with names
                self.forget(min(away, key=lambda one: one.heard))
            found = Laptop(self.next, self._free_name(name), "", 0.0)
        self.by_secret.pop(found.secret, None)
        found.secret, found.heard, found.doing = secrets.token_urlsafe(16), self.clock(), STATES[0]
        found.bucket = Bucket(20, 80, self.clock)
        return self.keep(found)

    def keep(self, laptop: Laptop) -> Laptop:
        self.laptops[laptop.number] = self.by_secret[laptop.secret] = laptop
        self.next = max(self.next, laptop.number + 1)
        return laptop

    def forget(self, laptop: Laptop) -> None:
        del self.laptops[laptop.number]
        self.by_secret.pop(laptop.secret, None)

    def check(self, code: str, address: str = "") -> None:
        """Raise `Wrong` for another code than the class's.

        After ten wrong ones an address has to wait two seconds for each try, also of the right one.
        """
        if address in self.guesses and not self.guesses[address].take():
            raise Wrong("too many wrong codes: wait a minute", 429)
        if not hmac.compare_digest(code.upper().encode(), self.code.encode()):
            if len(self.guesses) >= 1000:
                self.guesses.clear()
            self.guesses.setdefault(address, Bucket(0.5, 10, self.clock))
            raise Wrong("this isn't the code of this class: it's on the projector", 403)

    def of(self, secret: str) -> Laptop:
        """Return the learner with this secret, and note that it was heard."""
        if not (laptop := self.by_secret.get(secret)):
            raise Wrong("the host doesn't know this learner: join again", 401)
        if not laptop.bucket.take():
            raise Wrong("too many requests: wait a second", 429)
        now = self.clock()
        laptop.here += min(now - laptop.heard, SILENT)
        laptop.heard = now
        return laptop

    def beat(self, laptop: Laptop, facts: dict) -> None:
        """Note what a learner says of itself."""
        laptop.speed = number(facts, "speed", FASTEST)
        laptop.doing = STATES[whole(facts, "doing", len(STATES), least=1) - 1]

    def is_here(self, laptop: Laptop) -> bool:
        return self.clock() - laptop.heard < SILENT

    def present(self) -> list[int]:
        """Return the numbers of the learners that could still deliver."""
        return [one.number for one in self.laptops.values() if self.is_here(one)]

    def _free_name(self, name: str) -> str:
        taken, found, count = {one.name for one in self.laptops.values()}, name, 1
        while found in taken:
            count += 1
            found = f"{name[:13]} {count}"
        return found
