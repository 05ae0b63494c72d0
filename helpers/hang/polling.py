"""Does a loop do nothing but ask whether some communication is completed?

    while not work.is_completed():
        time.sleep(0.1)

Such a loop waits as work.wait() does. A loop that does anything else may end in another way, as
one that counts its rounds, so nothing can be concluded from it.
"""

import ast
import linecache

from helpers.hang.places import Frame, Frames, is_library


def only_polls(frames: Frames, asked: Frame) -> bool:
    """Whether a thread stands in such a loop. frames: its stack; asked: where it last asked."""
    mine = [f for f in frames if f[0] == asked[0] or not is_library(f[0])]
    if not mine or (mine[-1][0], mine[-1][2]) != (asked[0], asked[2]):
        return False
    try:
        tree = ast.parse("".join(linecache.getlines(asked[0])))
    except SyntaxError:  # a cell with a magic in it
        return False
    loops = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.While) and node.lineno <= asked[1] <= node.end_lineno
    ]
    if not loops:
        return False
    loop = max(loops, key=lambda node: node.lineno)
    inside = loop.lineno <= mine[-1][1] <= loop.end_lineno
    return inside and _asks(loop.test) and all(_passes_time(step) for step in loop.body)


def _asks(test: ast.expr) -> bool:
    """not work.is_completed(), or not all(work.is_completed() for work in works)."""
    if not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
        return False
    asked = test.operand
    if isinstance(asked, ast.Call) and isinstance(asked.func, ast.Name) and asked.func.id == "all":
        (several,) = asked.args if len(asked.args) == 1 else (None,)
        if not isinstance(several, ast.GeneratorExp | ast.ListComp):
            return False
        if len(several.generators) > 1 or several.generators[0].ifs:
            return False
        asked = several.elt
    return (
        isinstance(asked, ast.Call)
        and isinstance(asked.func, ast.Attribute)
        and asked.func.attr == "is_completed"
        and isinstance(asked.func.value, ast.Name | ast.Attribute | ast.Subscript)
    )


def _passes_time(step: ast.stmt) -> bool:
    """pass, continue, or time.sleep(…)."""
    if isinstance(step, ast.Pass | ast.Continue):
        return True
    if not (isinstance(step, ast.Expr) and isinstance(step.value, ast.Call)):
        return isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)
    called, arguments = step.value.func, step.value.args
    named = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return named == "sleep" and all(isinstance(a, ast.Constant | ast.Name) for a in arguments)
