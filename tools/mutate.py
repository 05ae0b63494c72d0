"""`python tools/mutate.py [PACKAGE …]`: change the code, one place at a time; do the tests notice?

Draws mutations of the packages with a seed, each in proportion to its places; makes one after the
other in a copy of the project, and runs the package's own tests there until one fails. Writes what
survived to tests/mutations.csv. 300 of them take most of a day on two cores.
"""

import argparse
import ast
import csv
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("schedules", "simulate", "pipeline", "oracle", "ranks", "hang")
LIST = ROOT / "tests" / "mutations.csv"
SWAPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """One change: in file, line `line`, the bytes from start to end become `new`."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str


def changed(node: ast.AST) -> str | None:
    """Return the source of a node with one mistake in it, or None where we know of none."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in SWAPPED:
            other = ast.Compare(node.left, [SWAPPED[type(op)]()], node.comparators)
        case ast.BinOp(op=op) if type(op) in SWAPPED:
            other = ast.BinOp(node.left, SWAPPED[type(op)](), node.right)
        case ast.BoolOp(op=op):
            other = ast.BoolOp(SWAPPED[type(op)](), node.values)
        case ast.UnaryOp(op=ast.Not()):
            other = node.operand
        case ast.Constant(value=bool()):
            return str(not node.value)
        case ast.Constant(value=int()):
            return str(node.value + 1)
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise():
            return "pass"
        case ast.Break():
            return "continue"
        case ast.Continue():
            return "break"
        case _:
            return None
    return f"({ast.unparse(other)})"


def mutations(file: Path, root: Path) -> list[Mutation]:
    """Return every mutation of a file; annotations and the insides of f-strings have none."""
    source = file.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []

    def visit(node):
        if isinstance(node, ast.JoinedStr):
            return
        new = changed(node)
        if new is not None:
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            name = file.relative_to(root).as_posix()
            old = source[start:end].decode()
            found.append(Mutation(name, node.lineno, start, end, old, new))
        for field, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and field not in ("annotation", "returns"):
                    visit(child)

    visit(ast.parse(source))
    return found


def copy_of(root: Path) -> Path:
    """Return a folder with what git tracks of the project."""
    place = Path(tempfile.mkdtemp(prefix="mutate-"))
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True, text=True
    ).stdout
    for name in filter(None, names.split("\0")):
        if (root / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, place / name)
    return place


def end_what_is_left(place: Path) -> None:
    """Kill the processes that work in the copy: a mutation may have broken what ends them."""
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if Path(os.readlink(each / "cwd")).is_relative_to(place):
                os.kill(int(each.name), signal.SIGKILL)
        except OSError:  # it has ended, or isn't ours
            continue


def tests_pass(place: Path, package: str, seconds: float) -> bool:
    """Return whether the tests of a package pass in the copy within so many seconds."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += ["-m", "not stress", f"tests/helpers/{package}"]  # what is slow, too
    there = dict(os.environ, PYTHONPATH=str(place), PYTHONDONTWRITEBYTECODE="1")
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, cwd=place, env=there, stdout=output, stderr=output, start_new_session=True
        )
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            process.kill()
            process.wait()
            end_what_is_left(place)


def survivors(chosen: list[Mutation], place: Path, patience: dict[str, float]):
    """Make one mutation after the other in the copy; yield each, and whether a test noticed."""
    for each in chosen:
        file = place / each.file
        source = file.read_bytes()
        file.write_bytes(source[: each.start] + each.new.encode() + source[each.end :])
        package = Path(each.file).parts[1]
        caught = not tests_pass(place, package, patience[package])
        file.write_bytes(source)
        yield each, caught


def main(arguments: list[str] | None = None) -> int:
    """Run the sample and write what survived."""
    parser = argparse.ArgumentParser(prog="python tools/mutate.py", description=__doc__)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=", ".join(PACKAGES))
    parser.add_argument("--count", type=int, default=300, help="of all packages together")
    parser.add_argument("--seed", type=int, default=36)
    parser.add_argument("--list", type=Path, default=LIST, help="where what survived is written")
    options = parser.parse_args(arguments)
    unknown = set(options.packages) - set(PACKAGES)
    if unknown:
        parser.error(f"no such package: {', '.join(sorted(unknown))}; known: {', '.join(PACKAGES)}")
    places = [
        m for p in PACKAGES for f in (ROOT / "helpers" / p).glob("*.py") for m in mutations(f, ROOT)
    ]
    places.sort(key=lambda each: (each.file, each.start, each.end))
    sample = random.Random(options.seed).sample(places, min(options.count, len(places)))
    wanted = options.packages or PACKAGES
    chosen = [each for each in sample if Path(each.file).parts[1] in wanted]
    place, patience = copy_of(ROOT), {}
    try:
        for package in wanted:
            begin = time.monotonic()
            if not tests_pass(place, package, 1200):
                print(f"The tests of {package} fail before anything has been changed.")
                return 1
            patience[package] = 60 + 3 * (time.monotonic() - begin)
        print(f"{len(chosen)} mutations of {len(places)}", flush=True)
        rows, count = [], Counter()
        for each, caught in survivors(chosen, place, patience):
            package = Path(each.file).parts[1]
            count[package, caught] += 1
            old = " ".join(each.old.split())
            print("caught  " if caught else "SURVIVED", f"{each.file}:{each.line}", end=" ")
            print(f"{old} -> {each.new}", flush=True)
            if not caught:
                rows.append((each.file, old, each.new))
    finally:
        shutil.rmtree(place)
    with options.list.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([("file", "old", "new"), *sorted(rows)])
    for package in wanted:
        total = count[package, True] + count[package, False]
        print(f"{package}: {count[package, True]} of {total} caught")
    return 0


if __name__ == "__main__":
    sys.exit(main())
