"""The reference in place of a skipped task, in this process and in all that it starts.

`skip("DP-1")` writes the task's id into the environment variable LAB_SKIP, which ranks, scripts and
launchers inherit. Wherever `helpers` is imported and the variable is set, `install` makes the
reference take the place of the task's functions: in modules that are loaded later (an import hook),
in modules that are loaded already, and in the script that is running. A program that doesn't import
`helpers` gets the import hook from `at_start`.

The references travel in tasks/reference.zip of the student edition; without that file nothing can
be skipped.
"""

import ast
import functools
import importlib.abc
import importlib.machinery
import json
import os
import subprocess
import sys
import textwrap
import types
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VARIABLE = "LAB_SKIP"
AT_START = str(Path(__file__).with_name("at_start"))
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
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([AT_START, *filter(None, paths)]))
    install()


def replacements(path: str | Path) -> dict[str, str]:
    """Return {function: source} for the functions of a file whose tasks are skipped."""
    try:
        name = Path(path).resolve().relative_to(ROOT).as_posix()
    except (OSError, ValueError):
        return {}
    found: dict[str, str] = {}
    for task in skipped():
        found |= references().get(task, {}).get(name, {})
    return found


def with_references(text: str, functions: dict[str, str]) -> str:
    """Return the source `text` with each function in `functions` replaced by its reference."""
    lines = text.splitlines()
    nodes = {name: node for name, node in definitions(ast.parse(text)) if name in functions}
    for name, node in sorted(nodes.items(), key=lambda item: -item[1].lineno):
        first = first_line(node)
        body = textwrap.indent(functions[name], " " * node.col_offset)
        lines[first - 1 : node.end_lineno] = body.splitlines()
    return "\n".join(lines) + "\n"


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


def install() -> None:
    """Let references take the place of skipped tasks here: loaded, to be loaded, and running."""
    from helpers.private import is_loading  # here: `at_start` loads this file without `helpers`

    watch_imports()
    sys.modules["helpers"].code_in_place_of = code_in_place_of
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if not path or name == "__main__" or is_loading(module):
            continue
        if functions := replacements(path):
            _replace_in(module, functions)
    main = sys.modules.get("__main__")
    script = getattr(main, "__file__", None)
    if script and getattr(main, "__spec__", None) is None and replacements(script):
        _run_again()


def watch_imports() -> None:
    """Load the modules that hold a skipped task with its reference from now on."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def load_again(path: str | Path) -> None:
    """Let what a file holds by now take the place of what this process loaded from it.

    A notebook imports a script once. When a task of it has been solved since, every name for its
    functions, in other modules and in the notebook too, shall have the new ones.
    """
    path = Path(path).resolve()
    for name, module in list(sys.modules.items()):
        where = getattr(module, "__file__", None)
        if name == "__main__" or not where or Path(where).resolve() != path:
            continue
        text = with_references(path.read_text(encoding="utf-8"), replacements(path))
        old = vars(module)
        scope = {key: old[key] for key in ("__name__", "__file__", "__package__", "__spec__")}
        exec(compile(text, where, "exec", dont_inherit=True), scope)
        for key, new in scope.items():
            if isinstance(new, types.FunctionType) and new.__module__ == name and key not in old:
                new = types.FunctionType(new.__code__, old, key, new.__defaults__, new.__closure__)
            if key not in old:
                old[key] = new
            elif getattr(new, "__module__", None) == name:
                _become(module, key, new)


def _replace_in(module: types.ModuleType, functions: dict[str, str]) -> None:
    """Put references into functions that are loaded, so that every name for them has the new."""
    text = with_references(Path(module.__file__).read_text(encoding="utf-8"), functions)
    wanted = {name.split(".")[0] for name in functions}
    body = [node for node in ast.parse(text).body if getattr(node, "name", None) in wanted]
    scope = dict(vars(module))
    exec(compile(ast.Module(body, []), module.__file__, "exec", dont_inherit=True), scope)
    for name in functions:
        *classes, last = name.split(".")
        owner, fresh = module, types.SimpleNamespace(**scope)
        for part in classes:
            owner, fresh = getattr(owner, part), getattr(fresh, part)
        _become(owner, last, vars(fresh)[last])


def _become(owner: object, name: str, new: object) -> None:
    """Make what `owner` calls `name` do what `new` does."""
    old = vars(owner).get(name)
    if isinstance(old, type) and isinstance(new, type):
        for part, value in vars(new).items():
            if isinstance(value, types.FunctionType | staticmethod | classmethod):
                _become(old, part, value)
        return
    was, now = getattr(old, "__func__", old), getattr(new, "__func__", new)  # of a static method
    function = isinstance(was, types.FunctionType) and isinstance(now, types.FunctionType)
    if function and len(was.__code__.co_freevars) == len(now.__code__.co_freevars):
        was.__code__, was.__defaults__ = now.__code__, now.__defaults__
        was.__kwdefaults__ = now.__kwdefaults__
        return
    if isinstance(new, types.FunctionType) and new.__code__.co_freevars == ("__class__",):
        closure = (types.CellType(owner),)  # what super() asks for
        new = types.FunctionType(new.__code__, new.__globals__, name, new.__defaults__, closure)
    setattr(owner, name, new)


def _run_again() -> None:
    """Run the script of this process from its beginning, with references; doesn't return."""
    count = len(sys.argv)
    python = sys.orig_argv[: len(sys.orig_argv) - count] or [sys.executable]
    command = [*python, "-c", "from helpers.skipped import main; main()", *sys.argv]
    os.environ["PYTHONPATH"] = os.pathsep.join(
        part for part in (str(ROOT), os.environ.get("PYTHONPATH")) if part
    )
    if os.name == "posix":
        os.execv(sys.executable, command)
    sys.exit(subprocess.run(command).returncode)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules that hold a skipped task, and has them loaded with the reference."""

    def find_spec(self, name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or not spec.origin or not replacements(spec.origin):
            return None
        spec.loader = _Loader(name, spec.origin)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a file with references in it; nothing is cached."""

    def get_code(self, name):
        return code_of(self.path)


def code_of(path: str | Path) -> types.CodeType:
    """Return a Python file's code, with the references of skipped tasks in it."""
    text = Path(path).read_text(encoding="utf-8")
    functions = replacements(path)
    try:
        text = with_references(text, functions) if functions else text
    except SyntaxError:
        pass  # compiling it says where
    return compile(text, str(path), "exec", dont_inherit=True)


def code_in_place_of(script: str | Path) -> types.CodeType | None:
    """Return a script's code with the references in it; None if no task of it is skipped."""
    return code_of(script) if replacements(script) else None


def main() -> None:
    """Run the script that the command line names, as `python SCRIPT ARGUMENT …` would."""
    del sys.argv[0]
    script = os.path.abspath(sys.argv[0])
    sys.path[0] = os.path.dirname(script)
    scope = vars(sys.modules["__main__"])
    for name in [name for name in scope if not name.startswith("__")]:
        del scope[name]
    scope["__file__"] = script
    exec(code_of(script), scope)
