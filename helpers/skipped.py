"""The reference in place of a skipped task: one decorator decides, in the student edition.

There each function that a student writes stands below `@task("DP-1")`. Whenever it's called, the
decorator takes the student's function, or, where LAB_SKIP names the task, the reference. Ranks,
scripts and launchers inherit that variable, so `skip("DP-1")` in a notebook holds for them too.

The references travel in tasks/reference.zip; without that file nothing can be skipped.
"""

import ast
import functools
import inspect
import json
import os
import sys
import textwrap
import types
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
VARIABLE = "LAB_SKIP"
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
PACKED = "tasks/reference.zip"
INSIDE = "reference.json"


@functools.cache
def references(root: Path = ROOT) -> dict[str, dict[str, dict[str, str]]]:
    """Return {task: {file: {function: source}}}; empty if this edition has no references."""
    try:
        with zipfile.ZipFile(root / PACKED) as archive:
            return json.loads(archive.read(INSIDE))
    except (OSError, KeyError, zipfile.BadZipFile):
        return {}


def skipped() -> list[str]:
    """Return the tasks that are skipped in this process."""
    return [task for task in os.environ.get(VARIABLE, "").split(",") if task]


def skip_from_now(task: str) -> None:
    """Skip a task here, and in every Python that this process starts from now on."""
    os.environ[VARIABLE] = ",".join(dict.fromkeys([*skipped(), task]))


def task(name: str) -> Callable[[Callable], Callable]:
    """Return the decorator of a function of the task with this name.

    What it makes calls the reference if the task is skipped when it is called, and else the
    function below it, or what `load_again` has found in its place since.
    """

    def marked(own: Callable) -> Callable:
        def current() -> Callable:
            if name not in skipped():
                return chosen.own
            if chosen.reference is None:
                chosen.reference = _reference(name, own)
            return chosen.reference

        if inspect.iscoroutinefunction(own):

            @functools.wraps(own)
            async def chosen(*args: Any, **named: Any) -> Any:
                return await current()(*args, **named)
        else:

            @functools.wraps(own)
            def chosen(*args: Any, **named: Any) -> Any:
                return current()(*args, **named)

        chosen.own, chosen.reference = own, None
        return chosen

    return marked


def _reference(name: str, own: types.FunctionType) -> Callable:
    """Return the reference of a task in place of one of its functions, or the function itself."""
    file = Path(own.__code__.co_filename).resolve()
    try:
        found = references()[name][file.relative_to(ROOT).as_posix()][own.__qualname__]
    except (KeyError, ValueError):
        return own
    scope: dict[str, Any] = {}
    *classes, last = own.__qualname__.split(".")
    if classes:
        found = f"class {classes[-1]}:\n{textwrap.indent(found, ' ')}"
    exec(compile(found, str(file), "exec", dont_inherit=True), own.__globals__, scope)
    made = vars(scope[classes[-1]])[last] if classes else scope[last]
    return at_home(getattr(made, "__func__", made), own.__globals__, own.__qualname__)


def at_home(made: types.FunctionType, scope: dict, qualname: str) -> types.FunctionType:
    """Return a function that finds its names in `scope`, and, as a method, the class it's in.

    One below a decorator of its own stays as it is.
    """
    closure = made.__closure__
    if hasattr(made, "__wrapped__"):
        return made
    if made.__code__.co_freevars == ("__class__",):  # what super() asks for
        owner = types.SimpleNamespace(**scope)
        for part in qualname.split(".")[:-1]:
            owner = getattr(owner, part)
        closure = (types.CellType(owner),)
    new = types.FunctionType(made.__code__, scope, made.__name__, made.__defaults__, closure)
    new.__kwdefaults__, new.__qualname__, new.__doc__ = made.__kwdefaults__, qualname, made.__doc__
    return new


def load_again(path: str | Path) -> None:
    """Let what a file holds by now take the place of what this process loaded from it.

    A notebook imports a script once. When a task of it has been solved since, the task's functions
    do the new thing under every name, and the module has the file's other new functions.
    """
    path = Path(path).resolve()
    for name, module in list(sys.modules.items()):
        where = getattr(module, "__file__", None)
        if name == "__main__" or not where or Path(where).resolve() != path:
            continue
        old = vars(module)
        scope = {key: old[key] for key in ("__name__", "__file__", "__package__", "__spec__")}
        text = path.read_text(encoding="utf-8")
        exec(compile(text, where, "exec", dont_inherit=True), scope)
        _take(module, {key: new for key, new in scope.items() if key[:2] != "__"}, old, "")


def _take(owner: object, new: dict[str, Any], scope: dict, before: str) -> None:
    """Give a module, or a class of it, the functions of its file as they are now."""
    for key, value in new.items():
        there, is_static = vars(owner).get(key), isinstance(value, staticmethod)
        made = value.__func__ if is_static else value
        if (
            isinstance(value, type)
            and isinstance(there, type)
            and value.__module__ == there.__module__
        ):
            _take(there, dict(vars(value)), scope, f"{before}{key}.")
        elif isinstance(made, types.FunctionType) and made.__module__ == scope["__name__"]:
            own = at_home(getattr(made, "own", made), scope, before + key)
            known = there.__func__ if isinstance(there, staticmethod) else there
            if hasattr(known, "own"):  # below @task: every name for it is this one
                known.own = own
            else:
                setattr(owner, key, staticmethod(own) if is_static else own)
        elif key not in vars(owner):
            setattr(owner, key, value)


def with_references(text: str, functions: dict[str, str]) -> str:
    """Return the source `text` with each function in `functions` replaced by its reference."""
    lines = text.splitlines()
    nodes = {name: node for name, node in definitions(ast.parse(text)) if name in functions}
    for name, node in sorted(nodes.items(), key=lambda item: -item[1].lineno):
        first = first_line(node)
        body = textwrap.indent(functions[name], " " * node.col_offset)
        lines[first - 1 : node.end_lineno] = body.splitlines()
    return "\n".join(lines) + "\n"


def marked_with_tasks(text: str, functions: dict[str, str]) -> str:
    """Return the source with `@task("DP-1")` above each of its functions that a task asks for.

    functions: {function: its task}.
    """
    tree, lines = ast.parse(text), text.splitlines()
    nodes = [(node, functions[name]) for name, node in definitions(tree) if name in functions]
    for node, name in sorted(nodes, key=lambda item: -item[0].lineno):
        lines.insert(node.lineno - 1, f'{" " * node.col_offset}@task("{name}")')
    place = _place_for_import(tree)
    after_docstring = place == tree.body[0].end_lineno and isinstance(tree.body[0], ast.Expr)
    lines[place:place] = [*[""] * after_docstring, "from helpers.skipped import task"]
    return "\n".join(lines) + "\n"


def _place_for_import(tree: ast.Module) -> int:
    """Return how many lines stand before an import of helpers.skipped in its right place."""
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [getattr(node, "module", None) or "" for node in imports]
    for node, name in zip(imports, names, strict=True):
        if name.startswith(("helpers.", "simplellm")) and name > "helpers.skipped":
            return node.lineno - 1
    if imports:
        return imports[-1].end_lineno
    has_docstring = tree.body and isinstance(tree.body[0], ast.Expr)
    return tree.body[0].end_lineno if has_docstring else 0


def definitions(
    tree: ast.Module | ast.ClassDef, before: str = ""
) -> Iterator[tuple[str, FUNCTIONS | ast.ClassDef]]:
    """Yield each function and class of a module, with names such as "Pipe.forward"."""
    for node in tree.body:
        if isinstance(node, FUNCTIONS | ast.ClassDef):
            yield before + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from definitions(node, f"{before}{node.name}.")


def first_line(node: FUNCTIONS | ast.ClassDef) -> int:
    """Return the first line of a definition, decorators included, counted from 1."""
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])
