"""Whose a submission is, and which of several counts: the people of a roster.

A submission belongs to the person whom its name names: as Canvas or Moodle name what they download,
or with an id, login, address or name of the roster; failing that, to the name inside the zip, which
its sender wrote. The roster is a table with a head: a gradebook that Canvas or Moodle exported, or
columns of your own (name, id, login, email).
"""

import csv
import re
import unicodedata
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

HEADS = {
    "name": ("name", "student", "full name"),
    "first": ("first name",),
    "last": ("last name", "surname"),
    "id": ("id", "id number", "student id", "sis user id"),
    "login": ("login", "username", "sis login id"),
    "email": ("email", "email address"),
}
CANVAS = re.compile(r"(?P<name>[^_]+)_(?:LATE_)?(?P<id>\d+)_\d+_")
MOODLE = re.compile(r"(?P<name>.+)_\d+_assignsubmission_")
ATTEMPT = re.compile(r"(-\d{1,2}| \(\d{1,2}\))$")  # ada-2, "ada (2)"
UNDATED = datetime.max.replace(tzinfo=UTC)  # no local time: in some zones it is after the year 9999


@dataclass
class Person:
    """A row of the roster, and the submissions that are this person's, as in grades.json."""

    row: dict[str, str]
    attempts: list[dict] = field(default_factory=list)
    late: list[int | None] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    counted: dict | None = None

    def get(self, what: str) -> str:
        for head in HEADS[what]:
            for name, text in self.row.items():
                if name.casefold().strip() == head and text.strip():
                    return text.strip()
        return ""

    @property
    def name(self) -> str:
        return self.get("name") or f"{self.get('first')} {self.get('last')}".strip()

    @property
    def keys(self) -> set[str]:
        """What may stand for this person in the name of a file."""
        email, name = self.get("email"), self.name
        last, comma, first = name.partition(",")
        turned = [f"{first} {last}", f"{last}{first}"] if comma else []
        turned += ["".join(reversed(name.split()))] if len(name.split()) == 2 else []
        own = [self.row.get("ID", ""), *(self.get(what) for what in ("id", "login"))]
        found = [*own, email, email.partition("@")[0], name, *turned]
        return {plain_key(text) for text in found} - {""}

    @property
    def late_minutes(self) -> int | None:
        return self.late[self.attempts.index(self.counted)] if self.counted else None


def plain_key(text: str) -> str:
    """A name without case, accents, spaces and signs: "Ada Lovelace" and "ada-lovelace" agree."""
    return "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if c.isalnum())


def read_roster(path: Path) -> list[Person]:
    """The people of a table. Raises ValueError if no column says who they are."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = [{k or "": v or "" for k, v in row.items() if isinstance(v, str | None)}
                for row in csv.DictReader(file)]  # fmt: skip
    people = [Person(row) for row in rows]
    # Canvas adds a row of points, and a student who isn't one.
    people = [p for p in people if p.name not in ("Points Possible", "Student, Test") and p.keys]
    if not people:
        heads = ", ".join(rows[0]) if rows else "nothing"
        raise ValueError(
            f"{path} names nobody: its first row needs at least one of the columns name, id, "
            f"login and email (or a gradebook's own), and holds {heads}"
        )
    return people


def who(name: str, says: str, people: list[Person]) -> tuple[Person | None, str]:
    """Whose a submission is, and what a person should know about it.

    name: of its file or folder. says: the name inside the zip.
    """
    given = CANVAS.match(name) or MOODLE.match(name)
    whole = name.removesuffix(".zip")
    stem = ATTEMPT.sub("", whole)
    texts = list(given.groupdict().values()) if given else [whole, stem, stem.partition("_")[0]]
    named = _meant(texts, people)
    claimed = _meant([says], people)
    if len(named) > 1:
        return None, "its name fits " + " and ".join(p.name or min(p.keys) for p in named)
    if not named:
        return (claimed[0], "by the name in the zip") if len(claimed) == 1 else (None, "")
    if says and claimed != named:
        return named[0], f"the zip says it is from {says}"
    return named[0], ""


def _meant(texts: list[str], people: list[Person]) -> list[Person]:
    keys = {plain_key(text) for text in texts} - {""}
    return [person for person in people if person.keys & keys]


def assign(
    grades: dict,
    people: list[Person],
    due: datetime | None = None,
    times: dict[str, str] | None = None,
    most: int | None = None,
) -> list[dict]:
    """Give each submission to its person, choose the one that counts, and return what is nobody's.

    The one with the most points counts, of several the best score, or else the first; `most` lets
    only so many count, the first that were handed in. A folder without a file in it was not handed
    in.
    """
    nobody = []
    for one in grades["submissions"]:
        if one.get("handed in") == "" and all(v["kind"] == "no file" for v in one["verdicts"]):
            continue
        person, note = who(one["name"], one.get("says", ""), people)
        if person is None:
            nobody.append(one | {"note": note})
            continue
        person.attempts.append(one)
        person.notes += [note] if note else []
    for person in people:
        person.attempts.sort(key=lambda one: _when(one, times) or UNDATED)
        person.late = [_late(_when(one, times), due) for one in person.attempts]
        person.counted = max(person.attempts[:most], key=_worth, default=None)
    return nobody


def _worth(one: dict) -> tuple[int, list[float]]:
    scores = [s for v in one["verdicts"] if (s := v.get("score"))]
    return one["points"], [s["number"] * (1 if s["best"] == "highest" else -1) for s in scores]


def _when(one: dict, times: dict[str, str] | None) -> datetime | None:
    text = (times or {}).get(one["name"]) or one.get("handed in") or ""
    return moment(text) if text else None


def _late(when: datetime | None, due: datetime | None) -> int | None:
    """Minutes, begun ones included; None where nobody asked, or where it isn't known."""
    if when is None or due is None:
        return None
    return max(0, -int((due - when).total_seconds() // 60))


def moment(text: str) -> datetime:
    """A time as ISO writes it; without an offset, this machine's. Raises ValueError."""
    try:
        found = datetime.fromisoformat(text.strip())
        return found if found.tzinfo else found.astimezone()
    except (ValueError, OverflowError):  # the latter from the zone, in the last year there is
        raise ValueError(f"{text!r} is not a time: write it like 2026-10-12T23:59") from None


def read_times(path: Path) -> dict[str, str]:
    """{submission: time} from a table with these two columns."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or not {"submission", "time"} <= rows[0].keys():
        raise ValueError(f"{path} needs the columns submission and time")
    return {row["submission"].removesuffix(".zip"): row["time"] for row in rows}
