"""Whose a submission is, and which of several counts: the people of a roster.

A submission belongs to the person whom its name names: as Canvas or Moodle name what they download,
or with an id, login, address or name of the roster; failing that, to the name inside the zip, which
its sender wrote. The roster is a table with a head: a gradebook that Canvas or Moodle exported, or
columns of your own (name, id, login, email).
"""

import csv
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from helpers.grade.many import Graded

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


@dataclass(frozen=True)
class Person:
    """A row of the roster."""

    row: dict[str, str]

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
    def called(self) -> str:
        """The name, or what else the roster has."""
        return self.name or min(self.keys)

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


@dataclass(frozen=True)
class Row:
    """A person, or nobody known; the submission that counts, or none; and what to know of it."""

    person: Person | None
    one: Graded | None
    note: str


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


def who(name: str, says: str, people: Sequence[Person]) -> tuple[Person | None, str]:
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
        return None, "its name fits " + " and ".join(p.called for p in named)
    if named:
        return named[0], f"the zip says it is from {says}" if says and claimed != named else ""
    if len(claimed) == 1:
        return claimed[0], "by the name in the zip"
    return None, f"the zip says it is from {says}" if says else ""


def _meant(texts: list[str], people: Sequence[Person]) -> list[Person]:
    keys = {plain_key(text) for text in texts} - {""}
    return [person for person in people if person.keys & keys]


def rows_of(graded: Sequence[Graded], people: Sequence[Person]) -> list[Row]:
    """Return a row for each person, in the roster's order, then one for each that is nobody's.

    Of several by one person the one with the most points counts, of equal ones the best score, or
    else the first by name. Without a roster each submission is nobody's.
    """
    found: dict[int, list[tuple[Graded, str]]] = {id(person): [] for person in people}
    nobody = []
    for one in graded:
        person, note = who(one.name, one.says, people)
        if person is not None and one.handed_in:
            found[id(person)].append((one, note))
        elif person is None and (one.handed_in or not people):
            notes = ["nobody on the roster"] * bool(people) + [note]
            notes += [] if one.handed_in else ["handed in nothing"]
            nobody.append(Row(None, one, "; ".join(filter(None, notes))))
    return [_row(person, found[id(person)]) for person in people] + nobody


def _row(person: Person, mine: list[tuple[Graded, str]]) -> Row:
    if not mine:
        return Row(person, None, "handed in nothing")
    notes = [f"the best of {len(mine)}"] if len(mine) > 1 else []
    notes += dict.fromkeys(note for _, note in mine if note)
    return Row(person, max((one for one, _ in mine), key=_worth), "; ".join(notes))


def _worth(one: Graded) -> tuple[int, list[float]]:
    return one.points, [-v.score.key for v in one.verdicts.values() if v.score]
