"""Steps made from the right one by changing a line of it."""

from helpers.grade.marks import find_regions
from helpers.grade.task import ROOT, load_task


def changed(task_id: str, *changes: tuple[str, str]) -> str:
    """The right body of a task with pieces of text replaced; each piece must be there."""
    path = ROOT / load_task(task_id).task.file
    regions = find_regions(path.read_text(encoding="utf-8"), str(path))
    (body,) = (region.body for region in regions if region.task == task_id)
    for old, new in changes:
        if old not in body:
            raise ValueError(f"the solution of {task_id} has no {old!r}")
        body = body.replace(old, new)
    return body
