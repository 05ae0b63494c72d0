"""The rules of a lesson that need more than its text: its tasks, predictions and numbers.

They are the second half of rule 2, and rules 4 and 6 of `rules`.
"""

import ast
import re
from collections.abc import Iterator
from string import ascii_uppercase

from nbformat import NotebookNode

from helpers.grade.task import ANSWERS, TaskError, load_packed, load_task, task_ids
from lessons.book import CHECK, Book
from lessons.rules import TIMES

TURN = re.compile(r"^### Your turn: ([A-Z0-9-]+) · (\d+) minutes · (\d+) points?$", re.MULTILINE)
CASES = re.compile(r"^### Your turn: cases .* · (\d+) minutes$", re.MULTILINE)
ASKING = ("predict", "reveal", "answer")
ASKED = ("predict", "answer")
MAGIC = re.compile(r"^(\s*)([%!].*|\w+ = [%!].*)$", re.MULTILINE)
HOMEWORK = re.compile(r"^## Homework", re.MULTILINE)


def asking_faults(book: Book, notebook: NotebookNode) -> list[str]:
    """One sentence for each of these rules that `notebook`, read from the source, breaks."""
    return [*_task_faults(book, notebook), *_question_faults(book, notebook)]


def _task_faults(book: Book, notebook: NotebookNode) -> Iterator[str]:
    checked, minutes, at_home, homework, above = set(), 0, 0, False, ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            homework = homework or bool(HOMEWORK.search(cell.source))
            above = cell.source if TURN.search(cell.source) else above
            cases = sum(map(int, CASES.findall(cell.source)))
            minutes, at_home = minutes + cases, at_home + cases * homework
        elif found := CHECK.match(cell.source):
            task = load_task(found[1], book.root / "tasks").task
            checked.add(task.id)
            minutes += task.minutes
            at_home += task.minutes if homework else 0
            facts = (task.id, str(task.minutes), str(task.points))
            if facts not in TURN.findall(above) or task.file not in above:
                yield (
                    f"check({task.id!r}) needs, above it, '### Your turn: {task.id} · "
                    f"{task.minutes} minutes · {task.points} points' in a text that names "
                    f"{task.file}"
                )
    folder = book.root / "tasks"
    tasks = [load_task(task_id, folder).task for task_id in task_ids(folder)]
    own = {task.id for task in tasks if task.lesson == book.lesson and not task.page}
    for task_id in sorted(own ^ checked):
        where = "is missing" if task_id in own else "belongs to another lesson"
        yield f"check({task_id!r}) {where}: see `lesson` in its file in tasks/"
    said = TIMES.search(notebook.cells[0].source)
    if said and (int(said[2]), int(said[3] or 0)) != (minutes, at_home):
        home = f" (homework {at_home})" if at_home else ""
        yield f"the first cell says 'tasks {said[2]}', and its tasks take {minutes} minutes{home}"


def _question_faults(book: Book, notebook: NotebookNode) -> Iterator[str]:
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    calls = [call for source in code for call in _calls(source)]
    asked = [call for call in calls if call.func.id in ASKED]
    ids = [call.args[0].value for call in asked]
    for name in {name for name in ids if ids.count(name) > 1}:
        yield f"two questions are called {name}"
    revealed = [call.args[0].value for call in calls if call.func.id == "reveal"]
    predicted = [call.args[0].value for call in asked if call.func.id != "answer"]
    if not predicted:
        yield "no prediction: call predict('micro_batches-1', question, choice, choice, …)"
    for name in sorted({*predicted} ^ {*revealed}):
        yield f"{name} needs both predict({name!r}, …) and, where it's answered, reveal({name!r})"
    try:
        truth = load_packed(book.root / "tasks", book.lesson, ANSWERS) if ids else None
    except TaskError as error:
        yield str(error)
        return
    for kind, called in (("PREDICTIONS", "predict"), ("NUMBERS", "answer")):
        known = getattr(truth, kind, {})
        used = [call.args[0].value for call in asked if call.func.id == called]
        for name in sorted({*known} ^ {*used}):
            yield f"{name} stands in one only of the lesson and {kind} of tasks/answers/"
    for call in asked:
        known = getattr(truth, "PREDICTIONS", {}).get(call.args[0].value)
        if call.func.id == "predict" and known:
            letters = set(ascii_uppercase[: len(call.args) - 2])
            right = {known.right} if isinstance(known.right, str) else set()
            if not right <= letters or set(known.wrong) != letters - right:
                wrong = ", ".join(sorted(letters - right))
                yield f"{call.args[0].value}: give a reason for each of {wrong}"


def _calls(source: str) -> Iterator[ast.Call]:
    """The calls of predict, reveal and answer in a cell."""
    try:
        tree = ast.parse(MAGIC.sub(r"\1pass", source))
    except SyntaxError:
        return  # running it says where
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ASKING
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node
