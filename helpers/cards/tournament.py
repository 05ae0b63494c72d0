"""A tournament of predictions: pairs say how long a step takes and how sure they are; then it runs.

    python -m helpers.cards.tournament open --seed 12         a plan for the projector
    python -m helpers.cards.tournament guess ada-bob 430 25   pair, ms, sure to within 25 % (of a
                                                              factor of 2: 100)
    python -m helpers.cards.tournament run                    run it on real ranks, and score
    python -m helpers.cards.tournament table                  the term so far, as a page too

A number within a factor w of what is measured is worth the more, the smaller w was; one outside
costs as much as it was sure. The score is the logarithm of a probability: guess g, measured m, and
|ln(g/m)| exponential, of a width that makes the range hold four times in five. Saying what one
believes is then the best strategy, for a sure pair and for an unsure one; and one round that went
wrong, or a busy machine, doesn't decide a term.

All rounds of a term are in one file. A round that has run takes no guess, and carries a seal made
with the secret beside it and the seal of the round before: what is changed afterwards, copied,
moved or taken out is refused.
"""

import argparse
import hmac
import json
import math
import sys
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from pathlib import Path
from secrets import token_hex

from helpers.cards.dealing import random_of
from helpers.cards.sheet import html_page
from helpers.files import write_whole
from helpers.pipeline import Pace, run_paced
from helpers.schedules import SCHEDULES, Schedule
from helpers.simulate import simulate
from helpers.words import significant

FILE = Path("build/tournament.json")
STYLE = """
body { font: 22px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; color: #16191d; }
table { border-collapse: collapse; width: 100%; }
td, th { padding: .35rem .8rem; text-align: right; }
td:first-child, th:first-child { text-align: left; }
tr:nth-child(even) { background: #f2f3f5; }
th { border-bottom: 3px solid var(--palette-blue); } pre { font-size: .9em; }
@media (prefers-color-scheme: dark) {
  body { background: #16191d; color: #e6e8eb; } tr:nth-child(even) { background: #22262c; } }
"""


@dataclass(frozen=True)
class Plan:
    """What a round asks about: a schedule, and the seconds of each stage's forward."""

    schedule: Schedule
    forward: tuple[float, ...]

    @property
    def pace(self) -> Pace:
        return Pace(list(self.forward), list(self.forward), list(self.forward))

    def __str__(self) -> str:
        times = ", ".join(f"{1e3 * seconds:.0f}" for seconds in self.forward)
        return (
            f"{self.schedule}\n\nForward of stages 0 to {len(self.forward) - 1}: {times} ms; a "
            "whole backward takes twice as long.\nHow many ms does the step take?"
        )


def plan_of(seed: int | str) -> Plan:
    """Draw the plan of a round: three or four ranks, and sometimes a stage that is too long."""
    rng = random_of(seed, 0, "tournament")
    name = rng.choice(("GPipe", "1F1B", "interleaved 1F1B", "ZB-H1"))
    p, m = rng.choice((3, 4)), rng.choice((4, 6, 8))
    schedule = SCHEDULES[name].made(p, m)
    forward = [rng.choice((0.01, 0.015, 0.02))] * schedule.stages
    if rng.random() < 0.6:
        forward[rng.randrange(schedule.stages)] *= rng.choice((1.5, 2))
    return Plan(schedule, tuple(forward))


def score(guess: float, within: float, measured: float) -> float:
    """Return ten times the log10 of the density that the guess gives to what was measured.

    guess, measured: ms. within: the factor of the range, above 1.
    """
    scale = math.log(within) / math.log(5)  # four times in five it is closer than the range
    off = abs(math.log(guess / measured))
    return 10 * (-off / scale - math.log(2 * scale)) / math.log(10)


def seal(played: dict, secret: str, before: str) -> str:
    """Return the seal of a round that has run. before: that of the round before."""
    plain = json.dumps({k: v for k, v in played.items() if k != "seal"}, sort_keys=True) + before
    return hmac.new(secret.encode(), plain.encode(), sha256).hexdigest()


class Term:
    """The rounds of a term: a file, and a secret beside it that nobody else has."""

    def __init__(self, path: Path):
        self.path, self.key = path, path.with_suffix(".secret")
        self.rounds = []
        if path.exists():
            try:
                self.rounds = json.loads(path.read_text(encoding="utf-8"))["rounds"]
            except (ValueError, KeyError, TypeError):
                raise ValueError(
                    f"{path} is not a tournament: move it away, or name another"
                ) from None
        if not self.key.exists():
            if any("seal" in each for each in self.rounds):
                raise ValueError(f"{self.key} is gone: without it no round can be proven")
            path.parent.mkdir(parents=True, exist_ok=True)
            self.key.write_text(token_hex(32), encoding="utf-8")
        self.secret, _, last = self.key.read_text(encoding="utf-8").partition("\n")
        self.last = ""
        for number, each in enumerate(self.rounds, 1):
            if "measured" in each:
                if each.get("seal") != seal(each, self.secret, self.last):
                    raise ValueError(
                        f"round {number} of {path} was changed after it ran: it doesn't count"
                    )
                self.last = each["seal"]
        if self.last != last:
            raise ValueError(f"{path} has lost a round that ran, or has one too many")

    @property
    def open(self) -> dict | None:
        """The round that takes guesses, if there is one."""
        return self.rounds[-1] if self.rounds and "measured" not in self.rounds[-1] else None

    def save(self) -> None:
        write_whole(self.path, json.dumps({"rounds": self.rounds}, indent=1))
        self.key.write_text(f"{self.secret}\n{self.last}", encoding="utf-8")

    def begin(self, seed: str) -> None:
        if self.open:
            raise ValueError(f"round {len(self.rounds)} is still open: run it first")
        self.rounds.append({"seed": seed, "guesses": {}})

    def guess(self, pair: str, ms: float, percent: float) -> None:
        """A pair may change its mind until the round runs."""
        if not self.open:
            raise ValueError("no round is open: it has run, or none has begun")
        if not (pair.strip() and 0 < ms < math.inf and 0 < percent <= 1000):
            raise ValueError(
                f"{pair} {ms:g} {percent:g}: a pair, ms above 0, and 1 to 1000 percent"
            )
        self.open["guesses"][pair] = {"ms": ms, "within": 1 + percent / 100}

    def close(self, measured: float) -> None:
        """measured: ms."""
        if not self.open:
            raise ValueError("no round is open: python -m helpers.cards.tournament open --seed 12")
        played = self.open
        played["measured"] = measured
        played["seal"] = self.last = seal(played, self.secret, self.last)

    def table(self) -> list[tuple[str, int, float, float]]:
        """Return (pair, rounds, mean error in powers of two, sum of scores), the best first."""
        rows: dict[str, list[tuple[float, float]]] = {}
        for each in self.rounds:
            for pair, said in each["guesses"].items() if "measured" in each else ():
                error = abs(math.log2(said["ms"] / each["measured"]))
                points = score(said["ms"], said["within"], each["measured"])
                rows.setdefault(pair, []).append((error, points))
        found = [
            (pair, len(row), sum(e for e, _ in row) / len(row), sum(p for _, p in row))
            for pair, row in rows.items()
        ]
        return sorted(found, key=lambda row: -row[3])

    def page(self) -> str:
        """Return the table as HTML for a projector."""
        rows = "".join(
            f"<tr><td>{escape(pair)}<td>{count}<td>{error:.2f}<td>{points:.1f}</tr>"
            for pair, count, error, points in self.table()
        )
        head = "<tr><th>pair<th>rounds<th>mean error (powers of 2)<th>score</tr>"
        now = f"<pre>{escape(str(plan_of(self.open['seed'])))}</pre>" if self.open else ""
        return html_page("Tournament", f"{now}<table>{head}{rows}</table>", STYLE)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m helpers.cards.tournament",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=["open", "guess", "run", "table"])
    parser.add_argument("words", nargs="*", metavar="PAIR MS PERCENT")
    parser.add_argument("--seed", help="for open: the plan that is drawn")
    parser.add_argument("--file", type=Path, default=FILE, help="the term's rounds")
    options = parser.parse_args(arguments)
    try:
        term = Term(options.file)
        if options.what == "open":
            term.begin(options.seed or str(len(term.rounds) + 1))
            print(plan_of(term.open["seed"]))
        elif options.what == "guess":
            try:
                pair, ms, percent = options.words
                term.guess(pair, float(ms), float(percent.rstrip("%")))
            except ValueError as error:
                known = str(error) if len(options.words) == 3 else ""
                known = "" if known.startswith("could not convert") else known
                raise ValueError(known or "guess needs a pair, ms and a percentage") from None
        elif options.what == "run":
            if not term.open:
                term.close(0.0)  # says what is wrong
            plan = plan_of(term.open["seed"])
            took = 1e3 * run_paced(plan.schedule, plan.pace).trace.duration
            predicted = 1e3 * simulate(plan.schedule, plan.pace.costs()).step_time
            term.close(took)
            print(f"measured {significant(took)} ms; simulated {significant(predicted)} ms")
            for pair, said in term.rounds[-1]["guesses"].items():
                points = score(said["ms"], said["within"], took)
                print(f"{pair:<20}{said['ms']:>8g} ms  {points:>6.1f}")
        term.save()
        if options.what == "table":
            for pair, count, error, points in term.table():
                print(f"{pair:<20}{count:>4} rounds{error:>8.2f} powers of 2{points:>8.1f}")
        options.file.with_suffix(".html").write_text(term.page(), encoding="utf-8")
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
