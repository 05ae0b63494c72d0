"""`solve`: the reference in place of a student's function, in the script and in this kernel."""

import ast
import sys
import types
from itertools import count
from pathlib import Path

from helpers.check.marks import around, definitions, lines_of, replaced
from helpers.check.notebook import no_longer_undone, the_shell
from helpers.check.task import Task, lab, load_task, solved


def solve(task_id: str) -> None:
    """Write the reference into the script, in place of your function; yours is kept beside it.

    What this kernel has imported from the script is the reference from now on, too. It isn't
    counted as done: to write the function yourself after all, take your file back.
    """
    task = load_task(task_id)
    path = lab() / task.file
    mine = path.read_text("utf-8") if path.is_file() else ""
    if holds_solution(task, mine):
        print(f"{task.file} holds the lab's own {task.calls} already.")
        return
    numbers = (path.with_suffix(f".mine{number}.py") for number in count(1))
    kept = next(other for other in numbers if not other.exists())
    kept.write_text(mine, "utf-8")
    path.write_text(with_solution(task, mine), "utf-8")
    load_again(path)
    no_longer_undone(task_id)
    print(f"{task.file} has the solution of {task_id} now; what you had is in {kept.name}.")


def holds_solution(task: Task, text: str) -> bool:
    """Return whether a script has the lab's own solution, so that it's nobody's work."""
    return f"# BEGIN SOLUTION {task.id}\n" in text or with_solution(task, text) == text


def with_solution(task: Task, mine: str) -> str:
    """Return the text of a student's script with the reference in it; where that text can't be
    read, or lacks the function, the script as it was, with stubs in the place of other tasks."""
    marked = (solved() / task.file).read_text("utf-8")
    text = replaced(marked, lambda one, body: body if one == task.id else load_task(one).stub)
    ours = definitions(ast.parse(text))
    try:
        theirs = definitions(ast.parse(mine))
    except (SyntaxError, ValueError):
        return text
    names = around(marked, task.id)
    if not theirs.keys() >= {*names}:
        return text
    lines, solution = mine.splitlines(keepends=True), text.splitlines(keepends=True)
    for name in sorted(names, key=lambda name: -theirs[name].lineno):
        lines[lines_of(theirs[name])] = solution[lines_of(ours[name])]
    return "".join(lines)


def load_again(path: Path) -> None:
    """Let what a script holds by now take the place of what this kernel, its notebook and its
    modules have imported from it."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if module.__name__ == "__main__" or not file or Path(file).resolve() != path.resolve():
            continue
        own = (  # a proxy may compute when it's asked for more than its type
            value
            for value in vars(module).values()
            if issubclass(type(value), type | types.FunctionType)
            and value.__module__ == module.__name__
        )
        old = {id(value): value for value in own}
        try:
            text = path.read_text("utf-8")
            exec(compile(text, file, "exec", dont_inherit=True), vars(module))
        except Exception as error:  # it's right, whatever it does when it is loaded twice
            print(f"{path.name} can't be loaded again ({error}): restart the kernel to use it.")
        places = [vars(each) for each in list(sys.modules.values()) if each is not module]
        for place in [*places, getattr(the_shell(), "user_ns", {})]:
            for name in [name for name, value in place.items() if id(value) in old]:
                place[name] = getattr(module, old[id(place[name])].__name__, place[name])
