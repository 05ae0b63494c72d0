"""Grades for Canvas: what its gradebook exports, with one column more, and imports again."""

from helpers.grade.people import Person
from helpers.grade.tables import csv_text

COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
POINTS = "    Points Possible"  # Canvas knows the row by these words


def canvas_csv(people: list[Person], title: str) -> str:
    """The table, or an empty text where the roster isn't Canvas's own export.

    Canvas finds a student by the columns that it wrote itself, so they go back as they came. Who
    handed in nothing has an empty field, which changes nothing there. A title that Canvas doesn't
    know makes a new assignment; one with its number, "Lab DP (4711)", goes to that assignment.
    """
    heads = [head for head in COLUMNS if head in people[0].row]
    if not {"Student", "ID"} <= set(heads):
        return ""
    of = next((p.counted["of"] for p in people if p.counted), "")
    rows = [[*heads, title], [POINTS, *("" for _ in heads[1:]), of]]
    rows += [
        [*(p.row[head] for head in heads), p.counted["points"] if p.counted else ""] for p in people
    ]
    return csv_text(rows)
