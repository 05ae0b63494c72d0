"""`python tools/mutate.py [PACKAGE …]`: change the code, one place at a time; do the tests notice?

Draws a share of the mutations of each package with a seed, 300 in all of those named below. The
package's own tests run once in a copy of the project in which each of those places leaves a mark,
to see which test reaches it. Then one mutation after the other is made, and the tests that reach
its place run, the shortest first, until one fails. tests/mutations.csv has what came of each, so
that a run that was ended goes on with the rest. `--again survived` asks about those that no test
noticed, `--again all` about every one. Two packages can run side by side. Another folder of code
with tests is named by its path: `simplellm`, `helpers/draw`.
"""

import argparse
import ast
import csv
import hashlib
import json
import os
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
SHARE = 0.0898  # 300 of their 3,404 in November 2026
LIST = ROOT / "tests" / "mutations.csv"
# Runs with pytest: after each test, who has left a mark. Before the first one: what an import runs.
PLUGIN = """
import json, os, time
import pytest

def collect(name, seconds=0.0):
    hits = sorted(os.listdir(os.environ["LAB_HITS"]))
    for hit in hits:
        os.unlink(os.path.join(os.environ["LAB_HITS"], hit))
    with open(os.environ["LAB_HITS"] + ".json", "a") as file:
        print(json.dumps([name, seconds, hits]), file=file)

def pytest_collection_finish(session):
    collect("")

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    begun = time.monotonic()
    yield
    collect(item.nodeid, time.monotonic() - begun)
"""
SWAPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """One change: in file, line `line`, the bytes from start to end become `new`.

    `nth` counts the places of the file where the same becomes the same: with it a mutation keeps
    its name when lines move.
    """

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str
    nth: int = 0

    @property
    def name(self) -> tuple[str, str, str, str]:
        """What the list calls it."""
        return self.file, " ".join(self.old.split()), self.new, str(self.nth)

    def lot(self, seed: int) -> float:
        """Return its number from 0 to 1, which no other moves: below the share it is drawn."""
        return int(hashlib.sha256(repr((seed, *self.name)).encode()).hexdigest()[:12], 16) / 16**12


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
            alike = sum((each.old, each.new) == (old, new) for each in found)
            found.append(Mutation(name, node.lineno, start, end, old, new, alike))
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


Reached = dict[Mutation, list[tuple[str, float]]]  # the tests of each, and their seconds


def run_tests(place: Path, *arguments: str, seconds: float, **variables: str) -> bool:
    """Return whether pytest succeeds in the copy within so many seconds.

    It runs in a fork of this process, which has torch but nothing of the project: to import torch
    takes longer than most of these tests.
    """
    import pytest
    import torch.distributed  # noqa: F401

    process = os.fork()
    if process == 0:
        code = 1
        try:
            os.setsid()
            os.chdir(place)
            output = os.open(os.devnull, os.O_RDWR)
            for descriptor in range(3):
                os.dup2(output, descriptor)
            sys.path[0], sys.dont_write_bytecode = str(place), True
            for name in [name for name in sys.modules if name.startswith("helpers")]:
                del sys.modules[name]  # a test of this program has some
            os.environ.update(PYTHONPATH=str(place), PYTHONDONTWRITEBYTECODE="1", **variables)
            os.environ["LAB_WARM"] = "0"  # ranks start when a test asks for them
            code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", *arguments])
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    try:
        while not (ended := os.waitpid(process, os.WNOHANG))[0]:
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        process = 0
        return ended[1] == 0
    finally:
        if process:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        end_what_is_left(place)


def marked(source: bytes, places: dict[int, Mutation], hits: Path) -> bytes:
    """Return source in which each place leaves a file with its number in `hits` when it's used."""
    found = []
    for number, each in places.items():
        mark = f"__import__('os').close(__import__('os').open('{hits}/{number}', 65))"  # O_CREAT
        statement = each.new in ("pass", "continue", "break")
        before, after = (f"{mark}; ", "") if statement else (f"({mark}, ", ")[1]")
        found += [(each.start, 1, -each.end, before), (each.end, 0, -each.start, after)]
    for position, *_, text in sorted(found, reverse=True):
        source = source[:position] + text.encode() + source[position:]
    return source


def reached(chosen: list[Mutation], place: Path, folder: str) -> Reached | None:
    """Return the tests that reach each mutation, the shortest first; None if a test fails now.

    What runs on import, and what can't leave a mark (a pattern of `match`), is reached by all.
    """
    hits = place / "hits"
    hits.mkdir()
    (place / "hits_plugin.py").write_text(PLUGIN)
    sources = {each.file: (place / each.file).read_bytes() for each in chosen}
    unmarked = set()
    for file, source in sources.items():
        places = {n: each for n, each in enumerate(chosen) if each.file == file}
        for number, each in list(places.items()):
            try:
                ast.parse(marked(source, {number: each}, hits))
            except SyntaxError:
                unmarked.add(str(number))
                del places[number]
        (place / file).write_bytes(marked(source, places, hits))
    arguments = ["-p", "hits_plugin", "-m", "not stress", f"tests/{folder}"]
    passed = run_tests(place, *arguments, seconds=3600, LAB_HITS=str(hits))
    for file, source in sources.items():
        (place / file).write_bytes(source)
    shutil.rmtree(hits)
    rows = [json.loads(line) for line in (place / "hits.json").read_text().splitlines()]
    (place / "hits.json").unlink()
    if not passed:
        return None
    (_, _, imported), *tests = rows
    tests.sort(key=lambda row: row[1])
    everywhere = unmarked | set(imported)
    return {
        each: [
            (name, seconds)
            for name, seconds, those in tests
            if str(number) in everywhere or str(number) in those
        ]
        for number, each in enumerate(chosen)
    }


def results(tests: Reached, place: Path):
    """Make one mutation after the other in the copy; yield each, and whether a test noticed."""
    for each, those in tests.items():
        file, names = place / each.file, place / "names"
        names.write_text("".join(f"{name}\n" for name, _ in those))
        source = file.read_bytes()
        file.write_bytes(source[: each.start] + each.new.encode() + source[each.end :])
        patience = 60 + 3 * sum(seconds for _, seconds in those)
        caught = bool(those) and not run_tests(place, f"@{names}", seconds=patience)
        file.write_bytes(source)
        yield each, caught


def folder_of(each: Mutation) -> str:
    """Return the folder of a mutation's file, whose tests are in the same folder of tests/."""
    return Path(each.file).parent.as_posix()


def known(path: Path) -> dict[tuple, str]:
    """Return what the list says: "caught" or "survived" of each mutation's name."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {tuple(row[:4]): row[4] for row in list(csv.reader(file))[1:]}


def write(path: Path, rows: dict[tuple, str]) -> None:
    """Write the list."""
    with path.open("w", newline="", encoding="utf-8") as file:
        head = ("file", "old", "new", "nth", "result")
        csv.writer(file, lineterminator="\n").writerows(
            [head, *((*name, result) for name, result in sorted(rows.items()))]
        )


def main(arguments: list[str] | None = None) -> int:
    """Run what the list lacks of the sample, and write what came of it."""
    parser = argparse.ArgumentParser(prog="python tools/mutate.py", description=__doc__)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=", ".join(PACKAGES))
    parser.add_argument("--share", type=float, default=SHARE, help=f"of all mutations: {SHARE}")
    parser.add_argument("--seed", type=int, default=36)
    parser.add_argument("--list", type=Path, default=LIST, help="what came of each")
    parser.add_argument("--again", choices=("survived", "all"), help="though the list has them")
    options = parser.parse_args(arguments)
    wanted = [
        f"helpers/{name}" if name in PACKAGES or not (ROOT / name).is_dir() else name
        for name in options.packages or PACKAGES
    ]
    for name in wanted:
        if not any((ROOT / name).glob("*.py")) or not (ROOT / "tests" / name).is_dir():
            parser.error(f"no code with tests: {name}; usual ones are {', '.join(PACKAGES)}")
    places = [m for name in wanted for f in (ROOT / name).glob("*.py") for m in mutations(f, ROOT)]
    sample = [each for each in places if each.lot(options.seed) < options.share]
    rows = known(options.list)
    done = (
        () if options.again == "all" else ("caught",) if options.again else ("caught", "survived")
    )
    chosen = [each for each in sample if rows.get(each.name) not in done]
    place = copy_of(ROOT)
    try:
        print(f"{len(chosen)} to make, of {len(sample)} drawn from {len(places)}", flush=True)
        tests = {}
        for folder in sorted({folder_of(each) for each in chosen}):
            found = reached([each for each in chosen if folder_of(each) == folder], place, folder)
            if found is None:
                print(f"The tests of {folder} fail before anything has been changed.")
                return 1
            tests |= found
        for each, caught in results(tests, place):
            result = "caught" if caught else "survived"
            print(f"{result:8} {each.file}:{each.line} {each.name[1]} -> {each.new}", flush=True)
            rows = known(options.list) | {each.name: result}  # another run may write beside us
            write(options.list, rows)
    finally:
        shutil.rmtree(place)
    names = {each.name for each in sample}
    rows = {  # what changed code has no more leaves the list
        name: result
        for name, result in known(options.list).items()
        if name in names or Path(name[0]).parent.as_posix() not in wanted
    }
    write(options.list, rows)
    count = Counter((Path(name[0]).parent.as_posix(), result) for name, result in rows.items())
    for folder in wanted:
        caught, survived = count[folder, "caught"], count[folder, "survived"]
        print(f"{folder}: {caught} of {caught + survived} caught")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left running
    sys.exit(main())
