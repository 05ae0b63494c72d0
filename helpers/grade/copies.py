"""`python -m helpers.grade.copies TASK … --all FOLDER`: which submissions are alike, and how.

It's a report and not a verdict, because two people who are taught the same write the same three
lines. So a body weighs as many points as its syntax tree has nodes beyond the given code, a form
that more than a quarter of the class uses weighs nothing between two of them, and a pair is listed
from `--least` points on. Two can be alike in three ways, from strong to weak: the same text,
comments included; the same code; the same code with other names. The solution that the lab
publishes is one of those compared.
"""

import argparse
import ast
import hashlib
import sys
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from helpers.grade.copy import MOST_SOURCE
from helpers.grade.marks import replace_regions
from helpers.grade.submitted import names, opened, refused, submissions
from helpers.grade.tables import csv_text, safe, write_table
from helpers.grade.task import ROOT, Task, load_task, tasks_of
from helpers.grade.words import in_one_line, why_not

PUBLISHED = "the published solution"
HOW = ("the same text", "the same code", "the same code with other names")
LEAST = 60  # nodes of syntax: about six lines


@dataclass(frozen=True)
class Form:
    """A function of somebody's, as three digests (in the order of HOW) and its size in nodes."""

    digests: tuple[str, str, str]
    size: int


@dataclass
class Pair:
    """Two that are alike: of each task how, and how much it weighs."""

    left: str
    right: str
    alike: dict[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def weight(self) -> int:
        return sum(weight for _, weight in self.alike.values())


def form_of(source: str, functions: Iterable[str]) -> Form | None:
    """The form of some functions of a file; None where they can't be found or read."""
    try:
        tree = ast.parse(source)
        found = [_function(tree, name) for name in functions]
        if None in found:
            return None
        text = "\n".join(ast.get_source_segment(source, node) for node in found)
        text = "\n".join(line for line in text.splitlines() if "SOLUTION" not in line)
        bare = [_bare(node) for node in found]
        same, size = "".join(map(ast.dump, bare)), sum(1 for n in bare for _ in ast.walk(n))
        renamed = "".join(ast.dump(_renamed(node)) for node in bare)
        texts = ("".join(text.split()), same, renamed)
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        return None
    return Form(tuple(hashlib.sha256(t.encode()).hexdigest() for t in texts), size)


def _function(tree: ast.Module, name: str) -> ast.AST | None:
    nodes: list[ast.AST] = [tree]
    for part in name.split("."):
        nodes = [n for node in nodes for n in ast.walk(node) if getattr(n, "name", "") == part]
    return nodes[-1] if nodes else None


def _bare(node: ast.AST) -> ast.AST:
    """Without docstrings and annotations, which say what it is and not what it does."""
    for inner in ast.walk(node):
        body = getattr(inner, "body", None)
        if isinstance(inner, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(inner):
            inner.body = body[1:]
        for name in ("annotation", "returns"):
            if hasattr(inner, name) and not isinstance(inner, ast.AnnAssign):
                setattr(inner, name, None)
    return node


def _renamed(node: ast.AST) -> ast.AST:
    """With every name replaced by the number of its first use. Attributes stay."""
    numbers: dict[str, str] = {}
    for inner in ast.walk(node):
        for name in ("id", "arg", "name"):
            if isinstance(text := getattr(inner, name, None), str):
                setattr(inner, name, numbers.setdefault(text, f"n{len(numbers)}"))
    return node


def pairs(forms: dict[str, dict[str, Form]], least: int = LEAST) -> list[Pair]:
    """Return the pairs that are alike, the heaviest first.

    forms: {submission: {task: its form, with the size of what was written}}; PUBLISHED is one.
    """
    most = max(3, (len(forms) - 1) // 4)
    found: dict[tuple[str, str], Pair] = {}
    for task in dict.fromkeys(task for mine in forms.values() for task in mine):
        groups: dict[tuple[int, str], list[str]] = defaultdict(list)
        for name, mine in forms.items():
            for place, digest in enumerate(mine[task].digests if task in mine else ()):
                groups[place, digest].append(name)
        usual = {name for (place, _), group in groups.items() if place == 2 for name in group
                 if sum(n != PUBLISHED for n in group) > most}  # fmt: skip
        for (place, _), group in sorted(groups.items()):
            for left, right in combinations(group, 2):
                pair = found.setdefault((left, right), Pair(left, right))
                common = left in usual and right in usual and PUBLISHED not in (left, right)
                weight = 0 if common else forms[left][task].size
                pair.alike.setdefault(task, (HOW[place], weight))
    listed = [pair for pair in found.values() if pair.weight >= least]
    return sorted(listed, key=lambda pair: (-pair.weight, pair.left, pair.right))


def forms_of(root: Path, tasks: list[Task], given: dict[str, int]) -> dict[str, Form]:
    """Return the form of the work below `root` on each task that was begun.

    given: how many nodes of each task were there before; where none was added, it hasn't begun.
    """
    found = {}
    for task in tasks:
        path = root / task.file
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MOST_SOURCE:
            continue
        form = form_of(path.read_text(encoding="utf-8", errors="replace"), task.functions)
        if form and form.size > given[task.id]:
            found[task.id] = Form(form.digests, form.size - given[task.id])
    return found


def given_sizes(tasks: list[Task]) -> dict[str, int]:
    """How large each task's functions are while the stub stands in them."""
    sizes = {}
    for task in tasks:
        source = (ROOT / task.file).read_text(encoding="utf-8")
        stubs = replace_regions(source, lambda r, t=task: t.stub() if r.task == t.id else r.body)
        form = form_of(stubs, task.functions)
        sizes[task.id] = form.size if form else 0
    return sizes


def compared(paths: list[Path], tasks: list[Task], least: int) -> tuple[list[Pair], list[str]]:
    """The pairs, and what could not be read.

    What others wrote is parsed in another process, since Python's own parser can be made to crash.
    """
    given = given_sizes(tasks)
    forms, unread = {PUBLISHED: forms_of(ROOT, tasks, given)}, []
    pool = ProcessPoolExecutor(1)
    for name, path in zip(map(in_one_line, names(paths)), paths, strict=True):
        try:
            if reason := refused(path):
                raise OSError(reason)
            with opened(path, [task.file for task in tasks]) as root:
                forms[name] = pool.submit(forms_of, root, tasks, given).result(timeout=60)
        except (OSError, BrokenProcessPool, TimeoutError) as error:
            unread.append(f"{name}: {why_not(error) or 'it cannot be parsed'}")
            pool.shutdown(wait=False, cancel_futures=True)
            pool = ProcessPoolExecutor(1)
    pool.shutdown()
    return pairs(forms, least), unread


def text_of(found: list[Pair], unread: list[str]) -> str:
    """A line for each pair, and below it how each task is alike."""
    lines = []
    for pair in found:
        lines.append(f"{pair.weight:5d}  {pair.left} and {pair.right}")
        for how in HOW:
            ids = [f"{t} ({w})" for t, (h, w) in pair.alike.items() if h == how]
            lines += [f"       {how}: {', '.join(ids)}"] if ids else []
    lines = lines or ["no two submissions are more alike than the tasks themselves make them"]
    return "\n".join([*lines, *(f"not compared: {text}" for text in unread)])


def csv_of(found: list[Pair]) -> str:
    rows = [["one", "other", "weight", "task", "how", "weight of the task"]]
    for pair in found:
        rows += [[safe(pair.left), safe(pair.right), pair.weight, task, how, weight]
                 for task, (how, weight) in pair.alike.items()]  # fmt: skip
    return csv_text(rows)


def main(arguments: list[str] | None = None) -> int:
    """Return 0, or 2 for wrong arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.grade.copies",
        description="Report submissions that are alike; a person has to judge.",
    )
    add = parser.add_argument
    add("tasks", nargs="+", metavar="TASK", help="DP-1, a lab (DP) or a lesson")
    add("--all", type=Path, required=True, metavar="FOLDER", help="where the submissions are")
    add("--least", type=int, default=LEAST, help=f"list pairs of at least this weight ({LEAST})")
    add("--out", type=Path, default=Path("build", "grades"), help="default: build/grades")
    options = parser.parse_args(arguments)
    try:
        tasks = [load_task(task_id).task for task_id in tasks_of(options.tasks)]
        found, unread = compared(submissions(options.all), tasks, options.least)
        write_table(options.out / "copies.csv", csv_of(found))
    except (ValueError, OSError) as error:
        print(why_not(error), file=sys.stderr)
        return 2
    print(text_of(found, unread))
    count = f"{len(found)} pair{'' if len(found) == 1 else 's'}"
    print(f"{count}; see {options.out / 'copies.csv'}. Ask both before you judge")
    return 0


if __name__ == "__main__":
    sys.exit(main())
