"""Solutions in scripts: `# BEGIN SOLUTION DP-1`, `# END SOLUTION`, each alone on its line."""

import ast
import re
import textwrap
from collections.abc import Callable

REGION = re.compile(
    r"^(?P<indent>[ \t]*)# BEGIN SOLUTION (?P<task>[A-Z0-9-]+)\n"
    r"(?P<body>(?:(?!\s*# BEGIN SOLUTION).*\n)*?)(?P=indent)# END SOLUTION(?:\n|$)",
    re.MULTILINE,
)
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
MARK = re.compile(r"^[^'\"`\n]*#\W*(?:BEGIN|END)\W*SOLUTION\b.{0,12}$", re.MULTILINE | re.I)


class TaskError(ValueError):
    """A task is unknown, or its file or its marks are wrong; the message says what to do."""


def regions(text: str, task: str = "") -> list[re.Match]:
    """Return the solutions in a script, in order: of all tasks, or of one. Raises TaskError for a
    mark without its partner, or nearly a mark: it would reach every student."""
    unmarked = REGION.sub(lambda region: f"\n{region['body']}\n", text)
    if mark := MARK.search(unmarked):
        raise TaskError(
            f"line {unmarked.count(chr(10), 0, mark.start()) + 1}, {mark[0].strip()!r}: a mark "
            "without its partner, or written wrong; write '# BEGIN SOLUTION DP-1', and "
            "'# END SOLUTION' at the same indent, each alone on its line"
        )
    return [region for region in REGION.finditer(text) if task in ("", region["task"])]


def definitions(tree: ast.AST, before: str = "") -> dict[str, ast.stmt]:
    """Return {"Pipe.forward": its node} of the functions and classes of a module."""
    found = {}
    for node in tree.body:
        if isinstance(node, DEFINITIONS):
            found[before + node.name] = node
        if isinstance(node, ast.ClassDef):
            found |= definitions(node, f"{before}{node.name}.")
    return found


def around(text: str, task: str) -> list[str]:
    """Return the names of the innermost definitions around the solutions of a task."""
    names, spans = [], definitions(ast.parse(text))
    for region in regions(text, task):
        line = text.count("\n", 0, region.start())
        names += [n for n, node in spans.items() if node.lineno <= line <= node.end_lineno][-1:]
    return list(dict.fromkeys(names))


def lines_of(node: ast.stmt) -> slice:
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return slice(first - 1, node.end_lineno)


def completed(text: str, task: str) -> str:
    """Return the definitions that the solution of a task completes, whole, at the left edge."""
    names = around(text, task)
    text = replaced(text, lambda _, body: body)
    nodes, lines = definitions(ast.parse(text)), text.splitlines()
    return "\n\n\n".join(textwrap.dedent("\n".join(lines[lines_of(nodes[n])])) for n in names)


def replaced(text: str, new: Callable[[str, str], str]) -> str:
    """Return a script with `new(task, body)` in place of each solution and its marks."""

    def put(region: re.Match) -> str:
        made = new(region["task"], textwrap.dedent(region["body"]))
        return textwrap.indent(textwrap.dedent(made).strip("\n"), region["indent"]) + "\n"

    regions(text)
    return REGION.sub(put, text)


def mutated(text: str, task: str, change: str | tuple) -> str:
    """Return the script with a mistake in a solution.

    change: a whole body; ("a piece", "what takes its place"); or several such pairs. A piece must
        stand in the solution exactly once; further lines of what takes its place get the indent of
        the line that it is in.
    """
    if isinstance(change, str):
        return replaced(text, lambda one, body: change if one == task else body)
    pairs = [change] if isinstance(change[0], str) else change
    solution = "\n".join(textwrap.dedent(region["body"]) for region in regions(text, task))
    for old, _ in pairs:
        if (count := solution.count(old)) != 1:
            raise TaskError(f"{task}: {old!r} stands {count} times in the solution, not once")

    def changed(one: str, body: str) -> str:
        for old, new in pairs if one == task else ():
            line = next((line for line in body.splitlines() if old.split("\n")[0] in line), "")
            indent = line[: len(line) - len(line.lstrip())]
            body = body.replace(old, new.replace("\n", f"\n{indent}"))
        return body

    return replaced(text, changed)
