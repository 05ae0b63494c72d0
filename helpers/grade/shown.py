"""What of a task's file the process of the work sees: its facts and how it is observed.

Cases, mutants and explanations would tell the work what is expected of it, so they stay with the
judge. Nothing has to be marked: what `TASK` and `observe` need, and what that needs, is shown.
"""

import ast
import threading

SHOWN = ("TASK", "observe")
PARSING = threading.Lock()  # CPython 3.11 counts the depth of all threads' trees in one number


def shown_part(text: str) -> str:
    """Return the source of a task without what `TASK` and `observe` do without."""
    with PARSING:
        tree = ast.parse(text)
    makers = {name: node for node in tree.body for name in _names(node)}
    kept, waiting = set(), [makers[name] for name in SHOWN if name in makers]
    while waiting:
        node = waiting.pop()
        if node not in kept:
            kept.add(node)
            used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            waiting += [makers[name] for name in used & makers.keys()]
    lines = text.splitlines(keepends=True)
    whole = [node for node in tree.body if node in kept]
    pieces = ["".join(lines[_first(node) - 1 : node.end_lineno]) for node in whole]
    return "\n".join([f'"""{ast.get_docstring(tree) or ""}"""\n', *pieces])


def _names(node: ast.stmt) -> set[str]:
    """The names that a statement of a module defines; a loop's variables are nobody's."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {(each.asname or each.name).split(".")[0] for each in names}
        case ast.Assign(targets=targets):
            found = (n for target in targets for n in ast.walk(target))
            return {n.id for n in found if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return set()


def _first(node: ast.stmt) -> int:
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
