"""What a person should look at: work that reaches for the check, or for the inside of Python.

No judgement, and no fence: a right answer that was made by calling the check's own computation
cannot be told from one that was thought of. This shows the plain ways of it, not all: who wants to
hide a name can. Honest work for these tasks uses none of these names.
"""

import ast
from pathlib import Path

from helpers.grade.task import ROOT

MOST_BYTES = 2_000_000  # of all files of a submission that are looked through
MOST_REMARKS = 20
MODULES = {
    "lab_task": "the check",
    "tasks": "the checks",
    "helpers.grade": "the grader",
    "helpers.oracle": "the judge of layouts",
    "inspect": "the frames of its caller",
    "gc": "all objects of its process",
    "ctypes": "the machine",
    "subprocess": "other programs",
    "importlib": "modules by name",
}
NAMES = {"_getframe", "modules", "f_locals", "f_back", "tb_frame", "__reduce__", "__globals__"}
CALLS = {"exec", "eval", "compile", "__import__"}


def signs_of(root: Path, file: str) -> list[str]:
    """The remarks on all Python files below `root`; first those on `file`, the task's own.

    A file beside it may name what the lab's file of that name does. Remarks on other files begin
    with their name. This parses what others have written: not for a process that must live.
    """
    own = root / file
    others = sorted(path for path in root.rglob("*.py") if path != own and path.is_file())
    found, left = signs(own), MOST_BYTES
    for path in others:
        left -= path.stat().st_size
        if left < 0:
            found.append(f"not all files were looked through: they have more than {MOST_BYTES:,} B")
            break
        if seen := _found(path):
            name = path.relative_to(root)
            usual = {sign for _, sign in _found(ROOT / name)}
            new = [(line, sign) for line, sign in seen if sign not in usual]
            found += [f"{name.as_posix()}, {_remark(line, sign)}" for line, sign in new]
    more = len(found) - MOST_REMARKS
    return found[:MOST_REMARKS] + ([f"and {more} more"] if more > 0 else [])


def signs(path: Path) -> list[str]:
    """One short remark for each sign, with its line; empty where there is none, or no Python."""
    return [_remark(line, name) for line, name in _found(path)]


def _found(path: Path) -> list[tuple[int, str]]:
    """Line and name of each sign in a file, in their order."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found += [(node.lineno, alias.name) for alias in names if _module(alias.name)]
            case ast.ImportFrom(module=str(module), names=names):
                full = [module, *(f"{module}.{alias.name}" for alias in names)]
                found += [(node.lineno, name) for name in full if _module(name)][:1]
            case ast.Attribute(attr=name) if name in NAMES and not _is_modules_method(node):
                found.append((node.lineno, name))
            case ast.FunctionDef(name=name) if name in NAMES:
                found.append((node.lineno, name))
            case ast.Call(func=ast.Name(id=name)) if name in CALLS:
                found.append((node.lineno, f"{name}()"))
            case ast.Constant(value=str(text)) if text.split(".")[0].startswith("lab_task"):
                found.append((node.lineno, text[:30]))
    return list(dict.fromkeys(sorted(found)))


def _module(name: str) -> str:
    """What a module that should not be named gives access to, or an empty string."""
    parts = name.split(".")
    parts[0] = "lab_task" if parts[0].startswith("lab_task") else parts[0]
    heads = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((MODULES[head] for head in heads if head in MODULES), "")


def _is_modules_method(node: ast.Attribute) -> bool:
    """`model.modules()` of torch is no sign; `sys.modules` is."""
    return node.attr == "modules" and not (
        isinstance(node.value, ast.Name) and node.value.id == "sys"
    )


def _remark(line: int, name: str) -> str:
    reach = _module(name)
    return f"line {line} names {name}" + (f", which reaches {reach}" if reach else "")
