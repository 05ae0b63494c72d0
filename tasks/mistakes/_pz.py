"""Wrong steps, made from the right one by changing a line of it."""

from helpers.grade.marks import find_regions
from helpers.grade.task import ROOT, load_task


def solution(task_id: str) -> str:
    """The right body of a task."""
    path = ROOT / load_task(task_id).task.file
    (body,) = (
        region.body
        for region in find_regions(path.read_text(encoding="utf-8"), str(path))
        if region.task == task_id
    )
    return body


def changed(task_id: str, *changes: tuple[str, str]) -> str:
    """The right body with pieces of text replaced; each piece must be there."""
    body = solution(task_id)
    for old, new in changes:
        if old not in body:
            raise ValueError(f"the solution of {task_id} has no {old!r}")
        body = body.replace(old, new)
    return body


def without(task_id: str, *lines: str) -> str:
    """The right body without the lines that contain these texts."""
    kept = solution(task_id).splitlines()
    for text in lines:
        fewer = [line for line in kept if text not in line]
        if len(fewer) == len(kept):
            raise ValueError(f"the solution of {task_id} has no line with {text!r}")
        kept = fewer
    return "\n".join(kept)
