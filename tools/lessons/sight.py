"""Which lines of a lesson a reader sees: its idea in sight, what only runs or shows it folded.

Each line of code is one of three kinds:

- plumbing: imports, paths, flags, seeds, clocks, and the calls that ask, check, launch, or make
  what a script makes (its options, tokenizer, model, text);
- show: prints, draws, claims and reveals, and the words for that;
- idea: all else, and a print of a bare value, as in `print(gpipe(4, 3))`.

A statement that holds others, such as a loop or a function, is of the best kind in it. A cell
without an idea is folded: JupyterLab hides its source (`jupyter.source_hidden`), the site puts
it under "Show the code". A cell in which the reader writes stays open.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator

from nbformat import NotebookNode

from helpers.lesson.code import code

IDEA, SHOW, PLUMBING = KINDS = ("idea", "show", "plumbing")
SHOWS = {"claim", "curves", "display", "print", "reveal", "show", "vary"}
SHOWS |= {"compare", "cuts", "design", "doctor", "explore", "play"}  # pictures to touch
SHOWS |= {"show_code", "show_diff", "show_orders"}
PLUMBS = {"answer", "check", "find_place", "keep_warm", "launch", "path", "predict", "train_script"}
PLUMBS |= {"make_model", "make_tokenizer", "read_flags", "stories_of_ranks"}
PLUMBS |= {"manual_seed", "perf_counter", "set_default_dtype", "set_num_threads"}
FOLDED = {"source_hidden": True}  # a cell's metadata.jupyter
SHOWN = re.compile(r"^show_code\((.*?)\)$", re.MULTILINE | re.DOTALL)
OPEN = re.compile(r"^(check|answer)\(", re.MULTILINE)  # here the reader acts
MAGIC = re.compile(r"^(\s*)([%!].*|\w+ = [%!].*)$", re.MULTILINE)


def is_folded(source: str) -> bool:
    """Return whether a code cell is folded."""
    return not OPEN.search(source) and IDEA not in kinds_of(source)


def kinds_of(source: str) -> list[str]:
    """Return the kind of each line of a code cell that isn't empty; of a comment: what follows."""
    lines = source.splitlines()
    kinds: list[str | None] = [None] * len(lines)
    try:
        body = ast.parse(MAGIC.sub(r"\1pass", source)).body
    except SyntaxError:  # running it says where
        return [IDEA for line in lines if line.strip()]
    for first, last, kind in _spans(body):
        kinds[first - 1 : last] = [kind] * (last - first + 1)
    found, kind = [], PLUMBING
    for line, known in reversed(list(zip(lines, kinds, strict=True))):
        kind = PLUMBING if MAGIC.match(line) else known or kind
        found += [kind] * bool(line.strip())
    return found[::-1]


def _spans(body: list[ast.stmt]) -> Iterator[tuple[int, int, str]]:
    """Yield first line, last line and kind; a statement comes before those that it holds."""
    for node in body:
        decorators = [each.lineno for each in getattr(node, "decorator_list", [])]
        yield min([node.lineno, *decorators]), node.end_lineno, _kind(node)
        for part in ("body", "orelse", "finalbody"):
            yield from _spans(getattr(node, part, []))
        for handler in getattr(node, "handlers", []):
            yield from _spans(handler.body)


def _kind(node: ast.stmt) -> str:
    parts = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
    parts += [handler.body for handler in getattr(node, "handlers", [])]
    if inside := [statement for part in parts for statement in part]:
        return min(map(_kind, inside), key=KINDS.index)
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Pass | ast.Global | ast.Nonlocal):
        return PLUMBING
    value = getattr(node, "value", None)
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    if any("sys.path" in ast.unparse(target) for target in targets if target):
        return PLUMBING
    if isinstance(node, ast.Expr) and isinstance(value, ast.Constant):
        return PLUMBING  # a docstring
    return _kind_of_value(value, isinstance(node, ast.Expr | ast.Return))


def _kind_of_value(value: ast.expr | None, bare: bool) -> str:
    """Return the kind of a statement that is, returns or assigns `value`."""
    if isinstance(value, ast.Constant) and value.value is None and not bare:
        return PLUMBING  # mine = None
    if isinstance(value, ast.Constant | ast.JoinedStr) and _is_words(value):
        return SHOW
    if isinstance(value, ast.List) and any(map(_is_flag, value.elts)):
        return PLUMBING
    called = _called(value)
    if called == "print" and len(value.args) == 1 and not _is_words(value.args[0]):
        return SHOW if isinstance(value.args[0], ast.BinOp) else IDEA
    if called in SHOWS:
        return SHOW
    if called in PLUMBS:
        return PLUMBING
    if called == "split" and "--" in ast.unparse(value):
        return PLUMBING
    return IDEA


def _called(value: ast.expr | None) -> str:
    """Return the name of what is called: of `next(intro.stories_of_ranks(…))[0]` the inner one."""
    while isinstance(value, ast.Subscript | ast.Starred):
        value = value.value
    if not isinstance(value, ast.Call):
        return ""
    names = ast.unparse(value.func).split(".")
    if names[0] in ("next", "iter", "zip", "list", "len") and value.args:
        return _called(value.args[0])
    return "claim" if names[0] == "claim" else "path" if "sys.path" in names[0] else names[-1]


def _is_words(value: ast.expr) -> bool:
    """Return whether it's text on one line, with values in it or not."""
    return isinstance(value, ast.JoinedStr) or (
        isinstance(value, ast.Constant) and isinstance(value.value, str) and "\n" not in value.value
    )


def _is_flag(value: ast.expr) -> bool:
    plain = isinstance(value, ast.Constant) and isinstance(value.value, str)
    return plain and value.value.startswith("--")


def shares(notebook: NotebookNode) -> tuple[Counter, Counter]:
    """Return how many lines of each kind a lesson has, and how many of them are in sight.

    The lines that `show_code` puts there from a file are in sight, and the idea.
    """
    total, seen = Counter(), Counter()
    for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
        kinds = Counter(kinds_of(cell.source))
        total += kinds
        seen += Counter() if is_folded(cell.source) else kinds
        for given in SHOWN.findall(cell.source):
            lines = code(*ast.literal_eval(f"({given},)")).plain.splitlines()[1:]
            seen[IDEA] += sum(bool(line.strip()) for line in lines)
    return total, seen


def told(counted: dict[str, tuple[Counter, Counter]]) -> str:
    """Return a table of what `shares` counted, by lesson, with the sum."""
    sums = [sum((pair[k] for pair in counted.values()), Counter()) for k in (0, 1)]
    head = f"{'lines of code':30}{'in all':>8}{'idea':>6}{'in sight':>11}"
    rows = [head + "".join(f"{kind:>10}" for kind in KINDS)]
    for name, (total, seen) in (counted | {"all": tuple(sums)}).items():
        idea, in_sight = (counts[IDEA] / max(1, counts.total()) for counts in (total, seen))
        row = f"{name:30}{total.total():8}{idea:6.0%}{seen.total():11}"
        rows.append(row + "".join(f"{seen[kind]:10}" for kind in KINDS) + f"{in_sight:6.0%}")
    return "\n".join(rows)
