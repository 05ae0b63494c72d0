"""What can be said about a file without running it: is it there, is it Python, is it done."""

import ast
import re
from pathlib import Path

from helpers.grade.task import Task, WorkFailed
from helpers.skipped import definitions

# What reads variables of others, where the check keeps the inputs of all ranks.
PEEKS = set(
    "_getframe _current_frames currentframe f_back f_locals get_objects get_referrers".split()
)
SKIPPED = "helpers.skipped"  # has the decorator that the student edition puts above each task


def look_at(path: Path, task: Task) -> None:
    """Return if the work can be run; else raise WorkFailed with kind "no file", "syntax", "skip",
    "peek", "no function" or "not done"."""
    try:
        source = path.read_bytes()
    except FileNotFoundError:
        raise WorkFailed("no file", f"there is no file {task.file} in the graded folder") from None
    except OSError as error:
        raise WorkFailed("no file", f"{task.file} cannot be read: {error.strerror}") from None
    try:
        tree = ast.parse(source, filename=task.file)
    except SyntaxError as error:
        where = f"{task.file}, line {error.lineno}" if error.lineno else task.file
        raise WorkFailed("syntax", f"{where}: {type(error).__name__}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        why = str(error) or type(error).__name__
        raise WorkFailed("syntax", f"{task.file} cannot be read as Python: {why}") from None
    if name := _of_skipping(tree):
        raise WorkFailed(
            "skip", f"{task.file} uses {name}: a skipped task earns nothing, so write it yourself"
        )
    if name := _of_peeking(tree):
        raise WorkFailed(
            "peek",
            f"{task.file} uses {name}, which reads what others hold, the check too: do without it",
        )
    if name := _of_library(tree, task.done_by):
        raise WorkFailed(
            "peek", f"{task.file} imports {name}, which does this task already: write it yourself"
        )
    for function in task.functions:
        if not _bindings(tree, function.rpartition(".")[2]):
            raise WorkFailed(
                "no function",
                f"{task.file} has no function {function}: keep its name, and write inside it",
            )
    message = _certain_stub(tree, task.function)
    if message is not None:
        raise WorkFailed("not done", f"not done yet: {message}")


def _of_skipping(tree: ast.Module) -> str:
    """What in a file belongs to `skip`, by which a notebook runs a reference; '' for nothing."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module="helpers.lesson", names=names) if any(
                name.name == "skip" for name in names
            ):
                return "skip"
            case ast.ImportFrom(module=module, names=[ast.alias(name="task")]) if module == SKIPPED:
                continue
            case ast.ImportFrom(module="helpers.lesson.skipping" | "helpers.skipped" as name):
                return name
            case ast.ImportFrom(module="helpers", names=names) if any(
                name.name == "skipped" for name in names
            ):
                return "helpers.skipped"
            case ast.Import(names=names) if any("skipp" in name.name for name in names):
                return names[0].name
            case ast.Constant(value=str(text)) if "LAB_SKIP" in text or "reference.zip" in text:
                return "the packed references"
    return ""


def _of_peeking(tree: ast.Module) -> str:
    """The first of `PEEKS` that a file names; '' for none. It can be hidden; then it's no slip."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.alias(name=name) if name in PEEKS:
                return name
            case ast.Constant(value=str(name)) if name in PEEKS:
                return name
    return ""


def _of_library(tree: ast.Module, names: tuple[str, ...]) -> str:
    """The first import from `helpers` with one of these names in it; '' for none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                parts = (module + alias.name).split(".")
                if parts[0] == "helpers" and not set(names).isdisjoint(parts):
                    return ".".join(parts)
    return ""


def _bindings(tree: ast.Module, name: str) -> int:
    """How often the module may define `name`: by a def, an assignment or an import, anywhere."""
    count = 0
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                count += node.name == name
            case ast.Name(ctx=ast.Store()):
                count += node.id == name
            case ast.alias():
                count += (node.asname or node.name) in (name, "*")
    return count


def _certain_stub(tree: ast.Module, name: str) -> str | None:
    """The stub's message, if calling the function must reach `raise NotImplementedError("Task …")`.

    That saves starting ranks just to find out. It is certain only where nothing else is called
    `name`, the raise stands in the function's own body, nothing before it can leave that, and no
    decorator changes the function: `@task("DP-1")` of the student edition doesn't.
    """
    owner, _, method = name.rpartition(".")
    found = [node for full, node in definitions(tree) if full in (name, owner)]
    decorators = [ast.unparse(each) for node in found for each in node.decorator_list]
    imported = any(isinstance(n, ast.ImportFrom) and n.module == SKIPPED for n in tree.body)
    ours = (
        r"(task\(.*\)|staticmethod)"
        if imported and _bindings(tree, "task") == 1
        else "staticmethod"
    )
    if (
        len(found) != (2 if owner else 1)
        or _bindings(tree, owner or name) > 1
        or any(
            isinstance(n, ast.Attribute) and n.attr == method and isinstance(n.ctx, ast.Store)
            for n in ast.walk(tree)
        )
        or not all(re.fullmatch(ours, each) for each in decorators)
        or not isinstance(found[-1], ast.FunctionDef | ast.AsyncFunctionDef)
    ):
        return None
    for statement in found[-1].body:
        match statement:
            case ast.Raise(
                exc=ast.Call(
                    func=ast.Name(id="NotImplementedError"), args=[ast.Constant(value=str(text))]
                )
            ) if text.startswith("Task "):
                return text
        if any(isinstance(n, ast.Return | ast.Raise | ast.Yield) for n in ast.walk(statement)):
            return None
    return None
