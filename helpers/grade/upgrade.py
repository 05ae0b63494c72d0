"""`python -m helpers.grade.upgrade OLD`: bring work along from an older student edition.

For each task the functions that you have written in OLD take the place of the stubs here, with the
functions of your own that stand beside them and the imports that they use. Nothing in OLD changes,
and work that is here already stays. What you have written into notebooks isn't brought along.
"""

import argparse
import ast
import re
import sys
from pathlib import Path

from helpers.files import write_whole
from helpers.grade.look import has_stub
from helpers.grade.notebook import find_root
from helpers.grade.task import Task, all_tasks
from helpers.plain_errors import plain_errors
from helpers.skipped import definitions, first_line, with_references

IMPORTS = ast.Import | ast.ImportFrom
STUB = re.compile(r"\bTask [A-Z][A-Z0-9-]*-[A-Z0-9]+: ")  # of whatever id: ids were renumbered


def bring(task: Task, old: Path, new: Path) -> str:
    """Bring the work on one task from the folder `old` to `new`; what was done, in a few words."""
    source, target = old / task.file, new / task.file
    if not source.is_file():
        return "no such file in the old folder"
    try:
        before = source.read_text(encoding="utf-8")
        theirs = dict(definitions(ast.parse(before)))
    except (SyntaxError, UnicodeDecodeError) as error:
        return f"left: {task.file} isn't Python ({error})"
    if _stubbed(before, theirs, task) or task.functions[0] not in _asked(old, task.file):
        return ""
    if not has_stub(target, task):
        return "left: there is work here already"
    text = target.read_text(encoding="utf-8")
    ours = dict(definitions(ast.parse(text)))
    lines = before.splitlines()
    found = {name: _source(lines, theirs[name]) for name in task.functions if name in theirs}
    text = with_references(text, found)
    own = [
        node
        for node in ast.parse(before).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name not in ours
    ]
    used = _names([theirs[name] for name in found] + own)
    imports = [
        node
        for node in ast.parse(before).body
        if isinstance(node, IMPORTS)
        and ast.unparse(node) not in text
        and used & {(each.asname or each.name).split(".")[0] for each in node.names}
    ]
    extra = [ast.get_source_segment(before, node) for node in (*imports, *own)]
    if extra:
        place = min(node.lineno for node in ast.parse(text).body if not _first(node)) - 1
        after = text.splitlines()
        text = "\n".join([*after[:place], *"\n\n".join(extra).splitlines(), "", "", *after[place:]])
    ast.parse(text)
    write_whole(target, (text.rstrip("\n") + "\n").encode())
    return "brought along" + (f", with {len(extra)} imports or functions of yours" if extra else "")


def _stubbed(text: str, nodes: dict, task: Task) -> bool:
    """Whether no function of the task has been written."""
    found = [_source(text.splitlines(), nodes[name]) for name in task.functions if name in nodes]
    return not found or all(STUB.search(body) for body in found)


def _names(nodes: list[ast.AST]) -> set[str]:
    """Every name that code uses."""
    return {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}


def _asked(old: Path, name: str) -> set[str]:
    """The functions of a file that were a task then; the others were there from the start."""
    found: set[str] = set()
    for path in (old / "tasks").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Task":
                facts = {each.arg: each.value for each in node.keywords}
                if "file" in facts and ast.literal_eval(facts["file"]) == name:
                    found.add(ast.literal_eval(facts["function"]))
    return found


def _source(lines: list[str], node: ast.FunctionDef | ast.ClassDef) -> str:
    cut = [line[node.col_offset :] for line in lines[first_line(node) - 1 : node.end_lineno]]
    return "\n".join(cut)


def _first(node: ast.stmt) -> bool:
    """Whether a statement belongs to the head of a file: its docstring and its imports."""
    return isinstance(node, IMPORTS) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def main(arguments: list[str] | None = None, new: Path | None = None) -> int:
    """0 if the old folder could be read."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.grade.upgrade",
        description="Bring work along from an older edition.",
    )
    parser.add_argument("old", type=Path, help="the folder of the older student edition")
    options = parser.parse_args(arguments)
    new = new or find_root()
    if not (options.old / "tasks").is_dir():
        print(f"{options.old} is no edition of the lab: it has no folder tasks/", file=sys.stderr)
        return 1
    if options.old.resolve() == new.resolve():
        print("name the older folder, not this one", file=sys.stderr)
        return 1
    done = {task.id: bring(task, options.old, new) for task in all_tasks()}
    for task_id, words in done.items():
        if words:
            print(f"{task_id:8} {words}")
    count = sum(words.startswith("brought") for words in done.values())
    print(f"{count} tasks brought along from {options.old}. Check them: python -m helpers.grade")
    return 0


if __name__ == "__main__":
    with plain_errors():
        sys.exit(main())
