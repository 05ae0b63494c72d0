"""Grades for Moodle's "Import: CSV file": who, how many points, and a line of feedback."""

from helpers.grade.people import Person
from helpers.grade.tables import csv_text

KEYS = {"email": "Email address", "id": "ID number", "login": "Username"}


def moodle_csv(people: list[Person], title: str) -> str:
    """The table; map one of its first columns to the user on Moodle's page, and both of the others.

    Moodle takes away a grade that comes without its feedback, so both are here. Who handed in
    nothing is not in the table. Empty where the roster has nothing that Moodle knows people by.
    """
    keys = [what for what in KEYS if any(p.get(what) for p in people)]
    if not keys:
        return ""
    rows = [[*(KEYS[what] for what in keys), title, f"{title} (feedback)"]]
    for person in people:
        if one := person.counted:
            rows.append(
                [*map(person.get, keys), one["points"], _feedback(one, person.late_minutes)]
            )
    return csv_text(rows)


def _feedback(one: dict, late: int | None) -> str:
    """Points of each task and the kind of what was wrong: no word that the work itself has said."""
    parts = [
        f"{v['task']}: {v['points']} of {v['of']}" + ("" if v["passed"] else f" ({v['kind']})")
        for v in one["verdicts"]
    ]
    return "; ".join(parts + ([f"{late} minutes late"] if late else []))
