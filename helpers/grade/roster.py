"""`python -m helpers.grade.roster GRADES.json ROSTER.csv`: from submissions to people.

`class.csv` has one row for each person, also for who handed in nothing, and one for each submission
that is nobody's. `canvas.csv`, if the roster is a gradebook that Canvas exported, or else
`moodle.csv`, can be imported there.
"""

import argparse
import csv
import json
import sys
from html import escape
from pathlib import Path

from helpers.grade.people import Person, assign, moment, read_roster, read_times
from helpers.grade.tables import cells_of, csv_text, heads_of, safe, write_table
from helpers.grade.words import cut, why_not

CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
CANVAS_POINTS = "    Points Possible"  # Canvas knows the row by these words
MOST_WORDS = 300  # characters of a sentence in the feedback
MOODLE = {"email": "Email address", "id": "ID number", "login": "Username"}


def class_csv(grades: dict, people: list[Person], nobody: list[dict]) -> str:
    """One row for each person, in the roster's order, then what is nobody's."""
    heads = heads_of(sorted_tasks(grades), grades["submissions"])
    rows = [["name", "id", "login", "email", "points", "of", *heads, "late minutes", "attempts",
             "submission", "note"]]  # fmt: skip
    for p in people:
        who_is = [safe(text) for text in (p.name, *map(p.get, ("id", "login", "email")))]
        one, note = p.counted, "; ".join(dict.fromkeys(p.notes))
        if one is None:
            rows.append([*who_is, "", "", *("" for _ in heads), "", 0, "", "handed in nothing"])
            continue
        late = "" if p.late_minutes is None else p.late_minutes
        rows.append([*who_is, one["points"], one["of"], *cells_of(one, heads), late,
                     len(p.attempts), safe(one["name"]), safe(note)])  # fmt: skip
    for one in nobody:
        note = "; ".join(filter(None, ["nobody on the roster", one["note"], one.get("says", "")]))
        rows.append(["", "", "", "", one["points"], one["of"], *cells_of(one, heads),
                     "", 1, safe(one["name"]), safe(note)])  # fmt: skip
    return csv_text(rows)


def canvas_csv(people: list[Person], title: str) -> str:
    """The table, or an empty text where the roster isn't Canvas's own export.

    Canvas finds a student by the columns that it wrote itself, so they go back as they came. Who
    handed in nothing has an empty field, which changes nothing there. A title that Canvas doesn't
    know makes a new assignment; one with its number, "Lab DP (4711)", goes to that assignment.
    """
    heads = [head for head in CANVAS if head in people[0].row]
    if not {"Student", "ID"} <= set(heads):
        return ""
    of = next((p.counted["of"] for p in people if p.counted), "")
    rows = [[*heads, title], [CANVAS_POINTS, *("" for _ in heads[1:]), of]]
    rows += [
        [*(p.row[head] for head in heads), p.counted["points"] if p.counted else ""] for p in people
    ]
    return csv_text(rows)


def moodle_csv(people: list[Person], title: str) -> str:
    """The table; map one of its first columns to the user on Moodle's page, and both of the others.

    Moodle takes away a grade that comes without its feedback, so both are here. Who handed in
    nothing is not in the table. Empty where the roster has nothing that Moodle knows people by.
    """
    keys = [what for what in MOODLE if any(p.get(what) for p in people)]
    if not keys:
        return ""
    rows = [[*(MOODLE[what] for what in keys), title, f"{title} (feedback)"]]
    for person in people:
        if one := person.counted:
            rows.append(
                [*map(person.get, keys), one["points"], _feedback(one, person.late_minutes)]
            )
    return csv_text(rows)


def _feedback(one: dict, late: int | None) -> str:
    """Points of each task, and its score or what was wrong: the check's sentence, or where the work
    itself has chosen words of it (an error's), only its kind. Moodle shows it as HTML."""
    parts = []
    for v in one["verdicts"]:
        own = v["kind"] in ("mistake", "not done", "pass")
        told = cut(own and v.get("reason") or v["kind"], MOST_WORDS)
        said = "" if told == "pass" else f" ({escape(told)})"
        parts.append(f"{v['task']}: {v['points']} of {v['of']}{said}")
    return "; ".join(parts + ([f"{late} minutes late"] if late else []))


def sorted_tasks(grades: dict) -> list[str]:
    """The ids of the tasks, in the order of the grading."""
    return list(dict.fromkeys(v["task"] for s in grades["submissions"] for v in s["verdicts"]))


def write_class(grades: dict, out: Path, title: str, roster: Path, **rules) -> list[str]:
    """Write class.csv, and what Canvas or Moodle can import; return what to print.

    Raises ValueError.

    title: of the assignment, as the gradebook knows it. rules: `due`, `times`, `most`.
    """
    people = read_roster(roster)
    nobody = assign(grades, people, **rules)
    texts = {
        "class.csv": class_csv(grades, people, nobody),
        "canvas.csv": canvas_csv(people, title),
    }
    if not texts["canvas.csv"]:
        texts["moodle.csv"] = moodle_csv(people, title)
    for name, text in texts.items():
        if text:
            write_table(out / name, text)
    absent = [p.name or min(p.keys) for p in people if not p.attempts]
    late = sum(bool(p.late_minutes) for p in people)
    lines = [f"{len(people) - len(absent)} of {len(people)} people handed in, {late} of them late"]
    lines += [f"handed in nothing: {', '.join(absent)}"] if absent else []
    strange = ", ".join(one["name"] for one in nobody)
    lines += [f"from nobody on the roster: {strange}"] if nobody else []
    return [*lines, f"written to {out}: {', '.join(name for name in texts if texts[name])}"]


def add_rules(parser: argparse.ArgumentParser) -> None:
    """The flags that say what counts; `rules_of` reads them."""
    add = parser.add_argument
    add("--due", type=moment, help="when it was due, as 2026-10-12T23:59: adds the minutes late")
    add("--times", type=Path, help="a table (submission, time); else the dates of the files count")
    add("--attempts", type=int, metavar="N", help="only the first N of each person can count")
    add("--title", help="the assignment's name in the gradebook, as in 'Lab DP (4711)'")


def rules_of(options: argparse.Namespace) -> dict:
    if options.attempts is not None and options.attempts < 1:
        raise ValueError(f"--attempts must be at least 1, not {options.attempts}")
    times = read_times(options.times) if options.times else None
    return {"due": options.due, "times": times, "most": options.attempts}


def main(arguments: list[str] | None = None) -> int:
    """0 if the tables were written, 2 for wrong arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.grade.roster", description="Give grades to people."
    )
    parser.add_argument("grades", type=Path, help="what --all wrote: build/grades/grades.json")
    parser.add_argument("roster", type=Path, help="a table of people: name, id, login or email")
    add_rules(parser)
    options = parser.parse_args(arguments)
    try:
        grades = json.loads(options.grades.read_text(encoding="utf-8"))
        title = options.title or "-".join(sorted_tasks(grades)[:1])
        out = options.grades.parent
        print("\n".join(write_class(grades, out, title, options.roster, **rules_of(options))))
    except (ValueError, KeyError, OSError, csv.Error) as error:
        print(why_not(error), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
