"""`python tests/frozen/plant.py [PACKAGE …]`: plant one fault after the other; what notices?

tests/frozen/faults.csv lists the faults and what came of each. The tests of a package run once in
a copy of the project in which the place of each fault leaves a mark, to see which test reaches it.
Then one fault after the other is planted, and the tests that reach it run, the shortest first,
until one fails. A fault whose text is gone counts as missed. Nothing of the project is imported
here, so that this judge stays the same while all else changes. See README.md beside this file.
"""

import argparse
import ast
import csv
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("faults.csv")
FIELDS = ("package", "file", "old", "new", "nth", "context", "source", "result", "by")
START = 180  # seconds until the first test, at most
# What the words of a failure have if the load of the machine may be the reason.
SLOW = re.compile("time.?out|timed|too long|seconds|longer|faster|deadline|in time", re.IGNORECASE)
PATIENCE = 60  # seconds that a test may take beyond three times what it took without a fault

# Of each package: its code, and its tests. What isn't there is skipped.
PACKAGES = {
    **{
        f"helpers/{name}": (
            [f"helpers/{name}"],
            [f"tests/helpers/{name}", f"tests/{name}", *["tests/schedules"] * (name == "simulate")],
        )
        for name in "schedules simulate pipeline oracle ranks hang trace cost cluster".split()
    },
    "helpers/checkpoint": (
        ["helpers/checkpoint"],
        ["tests/helpers/checkpoint", "tests/checkpoint"],
    ),
    "helpers/draw": (["helpers/draw"], ["tests/helpers/draw", "tests/tools/test_figures.py"]),
    "helpers/timeline": (["helpers/timeline"], ["tests/helpers/timeline"]),
    "helpers/play": (["helpers/play"], ["tests/helpers/play"]),
    "simplellm": (["simplellm"], ["tests/simplellm"]),
    "puzzles": (["puzzles"], ["tests/puzzles"]),
    "gpt2": (["gpt2"], ["tests/gpt2", "gpt2/tests"]),
    "DP": (["DP"], ["tests/DP", "tests/PP/test_scripts.py", "tests/test_parity.py"]),
    "TP": (["TP"], ["tests/TP", "tests/TP_cost", "tests/test_parity.py"]),  # they run TP/tests
    "PP": (["PP"], ["tests/PP", "tests/test_parity.py"]),
    "DP_PP": (["DP_PP"], ["tests/PP/test_scripts.py", "tests/DP_PP", "tests/test_parity.py"]),
    "CP": (["CP"], ["tests/CP", "tests/test_parity.py"]),
    "EP": (["EP"], ["tests/EP", "tests/test_parity.py"]),
    "tasks": (
        ["tasks", "helpers/grade", "helpers/check"],
        ["tests/tasks", "tests/grade", "tests/check"],
    ),
}
UNWANTED = "not long"  # tests with these marks repeat what a shorter one shows

# Runs with pytest and says what it does. After each test: which places have left a mark.
PLUGIN = """
import json, os, time
import pytest

def say(*what):
    with open(os.environ["PLANT_LOG"], "a") as file:
        print(json.dumps(what), file=file)

def hits():
    found = os.listdir(os.environ["PLANT_HITS"])
    for hit in found:
        os.unlink(os.path.join(os.environ["PLANT_HITS"], hit))
    return found

def pytest_collectreport(report):
    if report.failed:
        say("failed", report.nodeid)

def pytest_collection_finish(session):
    say("collected", "", 0, hits())

def pytest_runtest_logreport(report):
    if report.failed:
        say("failed", report.nodeid, report.longreprtext[-5000:])

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    say("begun", item.nodeid)
    begun = time.monotonic()
    yield
    say("ended", item.nodeid, time.monotonic() - begun, hits())
"""
SWAPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


# --- what can be planted, and where --------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """In a file, the bytes from start to end become `new`.

    context: the line in which it begins. nth: counts where in the file the same becomes the same.
    """

    file: str
    start: int
    end: int
    old: str
    new: str
    context: str
    nth: int
    late: bool = True  # within a function: it doesn't run at import

    def lot(self, seed: int) -> float:
        """Return its number from 0 to 1, which no other place moves: the lowest are drawn."""
        name = self.file, self.old, self.new, str(self.nth)
        return int(hashlib.sha256(repr((seed, *name)).encode()).hexdigest()[:12], 16) / 16**12


def one_line(text: str) -> str:
    return " ".join(text.split())


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


def line_starts(source: bytes) -> list[int]:
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def places(file: str, root: Path = ROOT) -> list[Place]:
    """Return all places of a file; annotations and the insides of f-strings have none."""
    source = (root / file).read_bytes()
    starts, lines = line_starts(source), source.splitlines()
    found: list[Place] = []
    alike: Counter[tuple[bytes, str]] = Counter()

    def visit(node, late):
        if isinstance(node, ast.JoinedStr):
            return
        new = changed(node)
        if new is not None:
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            old, context = source[start:end], one_line(lines[node.lineno - 1].decode())
            nth = alike[old, new]
            found.append(Place(file, start, end, one_line(old.decode()), new, context, nth, late))
            alike[old, new] += 1
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for field, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and field not in ("annotation", "returns"):
                    visit(child, late or (function and field == "body"))

    visit(ast.parse(source), False)
    return found


def where(fault: dict, root: Path = ROOT) -> Place | None:
    """Return the place of a fault, or None if its text is gone.

    nth of the list counts where the same becomes the same in an equal line.
    """
    file, old, new, nth = fault["file"], fault["old"], fault["new"], int(fault["nth"])
    if not (root / file).is_file():
        return None
    if fault["source"] == "hand":
        source = (root / file).read_bytes()
        starts = [each.start() for each in re.finditer(re.escape(old.encode()), source)]
        if nth >= len(starts):
            return None
        return Place(file, starts[nth], starts[nth] + len(old.encode()), old, new, "", nth)
    found = [
        each
        for each in places(file, root)
        if (each.old, each.new, each.context) == (old, new, fault["context"])
    ]
    return found[nth] if nth < len(found) else None


def as_fault(package: str, place: Place, source: str, root: Path = ROOT) -> dict:
    """Return the row of a place, without a result."""
    same = [
        each
        for each in places(place.file, root)
        if (each.old, each.new, each.context) == (place.old, place.new, place.context)
    ]
    values = (package, place.file, place.old, place.new, str(same.index(place)), place.context)
    return dict(zip(FIELDS, (*values, source, "", ""), strict=True))


def tracked(root: Path = ROOT) -> list[str]:
    command = ["git", "ls-files", "-z"]
    done = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True)
    return [name for name in done.stdout.split("\0") if name and (root / name).is_file()]


def draw(package: str, number: int, seed: int, root: Path = ROOT) -> list[dict]:
    """Return the faults of a package with the lowest lots; its tests have none."""
    code = [f"{folder}/" for folder in PACKAGES[package][0]]
    files = [
        name
        for name in tracked(root)
        if name.endswith(".py")
        and name.startswith(tuple(code))
        and "tests" not in Path(name).parts
        and Path(name).name != "conftest.py"
    ]
    found = sorted((p for file in files for p in places(file, root)), key=lambda p: p.lot(seed))
    return [as_fault(package, place, "drawn", root) for place in found[:number]]


# --- the list ------------------------------------------------------------------------------------


def key(fault: dict) -> tuple:
    return tuple(fault[field] for field in FIELDS[:7])


def read(path: Path) -> list[dict]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path: Path, faults: list[dict]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(faults)


# --- running tests in a copy ---------------------------------------------------------------------


class Copy:
    """What git tracks of the project, in a folder of its own, with a place for what tests leave."""

    def __init__(self):
        self.home = Path(tempfile.mkdtemp(prefix="plant-"))
        self.root, self.hits, self.log = self.home / "lab", self.home / "hits", self.home / "log"
        self.hits.mkdir()
        for name in tracked():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, self.root / name)
        # Some tests ask git which files there are.
        subprocess.run("git init -q && git add -A", shell=True, cwd=self.root, check=True)
        (self.home / "plant_plugin.py").write_text(PLUGIN)

    def run(self, *arguments: str, limits: dict[str, float] | None = None) -> "Run":
        """Run pytest in the copy; a test may take as long as `limits` says.

        It runs in a fork of this process, which has torch but nothing of the project: to import
        torch takes longer than most tests.
        """
        import pytest
        import torch.distributed  # noqa: F401

        self.log.write_text("")
        process = os.fork()
        if process == 0:
            code = 1
            try:
                os.setsid()
                os.chdir(self.root)
                output = os.open(self.home / "output", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
                os.dup2(os.open(os.devnull, os.O_RDWR), 0)
                os.dup2(output, 1)
                os.dup2(output, 2)
                sys.path[:1] = [str(self.root), str(self.home)]
                sys.dont_write_bytecode = True
                os.environ.update(
                    PYTHONPATH=str(self.root), PYTHONDONTWRITEBYTECODE="1", LAB_WARM="0",
                    PLANT_LOG=str(self.log), PLANT_HITS=str(self.hits),
                )  # fmt: skip
                plain = ["-q", "-p", "no:cacheprovider", "-p", "plant_plugin"]
                code = int(pytest.main([*plain, f"--basetemp={self.home}/t", *arguments]))
            finally:
                os._exit(code)
        try:
            return self.watch(process, limits or {})
        finally:
            self.end_what_is_left(process)

    def watch(self, process: int, limits: dict[str, float]) -> "Run":
        """Wait for the end of pytest, or of a test's time."""
        rows, since = [], time.monotonic()
        with self.log.open() as log:
            while True:
                ended, status = os.waitpid(process, os.WNOHANG)
                if lines := log.readlines():
                    rows += [json.loads(line) for line in lines]
                    since = time.monotonic()
                if ended:
                    return Run(rows, os.waitstatus_to_exitcode(status))
                running = rows[-1][1] if rows else ""
                if time.monotonic() - since > limits.get(running, START):
                    return Run(rows, 1, timed_out=True)
                time.sleep(0.03)

    def end_what_is_left(self, session: int) -> None:
        """Kill all processes of a run: a fault may have broken what ends them."""
        for each in Path("/proc").glob("[0-9]*"):
            try:
                ours = (
                    os.getsid(int(each.name)) == session
                    or Path(os.readlink(each / "cwd")).is_relative_to(self.home)
                    or f"PLANT_LOG={self.log}".encode() in (each / "environ").read_bytes()
                )
                if ours:
                    os.kill(int(each.name), signal.SIGKILL)
            except OSError:  # it has ended, or isn't ours
                continue
        try:
            os.waitpid(session, 0)
        except ChildProcessError:
            pass


@dataclass
class Run:
    """What pytest did. rows: what the plugin said, each (event, test, …)."""

    rows: list
    code: int
    timed_out: bool = False

    @property
    def passed(self) -> bool:
        return self.code == 0 and not self.failed

    @property
    def failed(self) -> list[str]:
        return [row[1] for row in self.rows if row[0] == "failed"]

    @property
    def slow(self) -> bool:
        return any(SLOW.search(row[2]) for row in self.rows if row[0] == "failed" and row[2:])

    @property
    def ended(self) -> dict[str, float]:
        return {row[1]: row[2] for row in self.rows if row[0] == "ended"}

    @property
    def running(self) -> str:
        return self.rows[-1][1] if self.rows else ""


# --- which test reaches which fault --------------------------------------------------------------


def marked(source: bytes, at: dict[int, tuple[Place, bool]], hits: Path) -> bytes:
    """Return source in which each place leaves a file with its number in `hits` when it's used.

    at: by number the place, and whether its text is a single expression or statement.
    """
    found = []
    starts = line_starts(source)
    for number, (each, single) in at.items():
        mark = f"__import__('os').close(__import__('os').open('{hits}/{number}', 65))"  # O_CREAT
        if not single:  # a line of its own before the statement in which it begins
            line, column = statement(source, each.start + len(each.old) - len(each.old.lstrip()))
            found.append((starts[line - 1] + column, 0, 0, f"{mark}\n{' ' * column}"))
        elif each.new in ("pass", "continue", "break"):
            found.append((each.start, 1, -each.end, f"{mark}; "))
        else:
            found.append((each.start, 1, -each.end, f"({mark}, "))
            found.append((each.end, 0, -each.start, ")[1]"))
    for position, *_, text in sorted(found, reverse=True):
        source = source[:position] + text.encode() + source[position:]
    return source


def statement(source: bytes, position: int) -> tuple[int, int]:
    """Return line and column of the innermost statement that holds a position."""
    line = source.count(b"\n", 0, position) + 1
    holding = [
        each
        for each in ast.walk(ast.parse(source))
        if isinstance(each, ast.stmt) and each.lineno <= line <= each.end_lineno
    ]
    inner = max(holding, key=lambda each: (each.lineno, each.col_offset))
    return inner.lineno, inner.col_offset


def reached(
    chosen: list[tuple[dict, Place]], copy: Copy, arguments: list[str], ids: dict[str, list[str]]
) -> list[list[tuple[str, float]]]:
    """Return for each fault the tests that reach it, as (name, seconds), the shortest first.

    After them those in the same files: what one test has started may serve the others. What runs on
    import, and what can't leave a mark (a pattern of `match`), is reached by all. A test that fails
    with the marks, but not without them, may reach all. One that fails without them reaches
    nothing. ids: of a file, what stands in the names of further tests that reach it.
    """
    files = {place.file: (copy.root / place.file).read_bytes() for _, place in chosen}
    everywhere = {str(n) for n, (_, place) in enumerate(chosen) if not place.late}
    for file, source in files.items():
        at = {}
        for number, (fault, place) in enumerate(chosen):
            if place.file == file:
                one = {number: (place, fault["source"] != "hand")}
                try:
                    ast.parse(marked(source, one, copy.hits))
                    at |= one
                except (SyntaxError, ValueError):
                    everywhere.add(str(number))
        (copy.root / file).write_bytes(marked(source, at, copy.hits))
    run = copy.run("-m", UNWANTED, *arguments, limits=Long())
    for file, source in files.items():
        (copy.root / file).write_bytes(source)
    failed = set(run.failed)
    if run.timed_out:
        print(f"  {run.running} takes too long: it and those after it are left out", flush=True)
    if failed:
        alone = copy.run(*sorted(failed), limits=Long())
        broken = set(alone.failed) | (failed - set(alone.ended))
        print(f"  {len(failed)} fail with marks, {len(broken)} without: {sorted(broken)}")
    else:
        broken = set()
    rows = [row for row in run.rows if row[0] in ("collected", "ended")]
    if len(rows) < 2:
        print((copy.home / "output").read_text()[-3000:])
        raise SystemExit(f"no test ran: {' '.join(arguments)}")
    everywhere |= set(rows[0][3])
    tests = sorted(rows[1:], key=lambda row: row[2])
    found = []
    for number, (fault, _) in enumerate(chosen):
        own = tuple(ids.get(fault["file"], ()))
        sure = [(name, s) for _, name, s, hits in tests if str(number) in hits]
        beside = {name.partition("::")[0] for name, _ in sure}
        rest = [
            (name, s)
            for _, name, s, hits in tests
            if str(number) not in hits
            and (
                str(number) in everywhere
                or name in failed
                or name.partition("::")[0] in beside
                or any(each in name for each in own)
            )
        ]
        found.append([(name, s) for name, s in sure + rest if name not in broken])
    print(f"  {len(tests)} tests, {sum(row[2] for row in tests):.0f} s", flush=True)
    return found


class Long(dict):
    """Limits of tests that nobody has timed."""

    def get(self, name, default=0.0):
        return 900.0


# --- planting ------------------------------------------------------------------------------------


def verdict(place: Place, tests: list[tuple[str, float]], copy: Copy, clean: dict[str, bool]):
    """Plant one fault in the copy; return "caught" or "survived", and what caught it.

    The test that fails must pass without the fault, and if its words speak of time it must fail
    with it again, alone. Otherwise the tests after it are asked.
    """
    file, limits = copy.root / place.file, {name: PATIENCE + 3 * s for name, s in tests}
    source = file.read_bytes()
    wrong = source[: place.start] + place.new.encode() + source[place.end :]
    left = [name for name, _ in tests]
    try:
        while left:
            file.write_bytes(wrong)
            (copy.home / "names").write_text("".join(f"{name}\n" for name in left))
            run = copy.run("-x", f"@{copy.home}/names", limits=limits)
            if run.timed_out:
                return "caught", f"time-out: {run.running}"
            if run.passed:
                return "survived", ""
            name = run.failed[0] if run.failed else run.running
            if name not in limits:  # a file that can't be imported any more, or pytest itself
                return "caught", name or "pytest doesn't start"
            if not run.slow or not copy.run(name, limits=limits).passed:
                if name not in clean:
                    file.write_bytes(source)
                    clean[name] = copy.run(name, limits=limits).passed
                if clean[name]:
                    return "caught", name
            done = {*run.ended, name}
            left = [each for each in left if each not in done]
        return "survived", ""
    finally:
        file.write_bytes(source)


def tests_of(package: str, chosen: list[tuple[dict, Place]], given: list[str]):
    """Yield some faults, what pytest gets to run their tests, and for files of tasks their ids."""
    folders = given or [name for name in PACKAGES[package][1] if (ROOT / name).exists()]
    if package != "tasks" or given:
        yield chosen, folders, {}
        return
    # All tests of all tasks take long: a task's file is reached by those with its name, and by
    # those without any; what several tasks import, by those of all that do.
    tasks = {path.stem: path.read_text() for path in (ROOT / "tasks").glob("[a-z]*.py")}
    ids = {}
    for file in {fault["file"] for fault, _ in chosen}:
        path = Path(file)
        if path.parent == Path("tasks"):
            shared = path.stem.startswith("_")
            names = [n for n, text in tasks.items() if path.stem in (text if shared else [n])]
            ids[file] = [f"[{name.upper().replace('_', '-')}" for name in names]
    of_tasks = [each for each in chosen if each[0]["file"] in ids]
    if of_tasks:
        words = " or ".join(sorted({name for names in ids.values() for name in names}))
        folders = [name for name in folders if name != "tests/grade"]
        yield of_tasks, ["-k", f"{words} or not [", *folders], ids
    answers = [each for each in chosen if each[0]["file"].startswith("tasks/answers/")]
    if answers:
        yield (
            answers,
            [n for n in ("tests/helpers/lesson", "tests/lesson") if (ROOT / n).exists()],
            {},
        )
    grade = [each for each in chosen if each[0]["file"].startswith("helpers/")]
    if grade:
        yield grade, [n for n in PACKAGES[package][1][1:] if (ROOT / n).exists()], {}


def main(arguments: list[str] | None = None) -> int:
    """Plant what the list has, or draw a new list."""
    parser = argparse.ArgumentParser(
        prog="python tests/frozen/plant.py", description=__doc__.partition("\n")[0]
    )
    add = parser.add_argument
    add("packages", nargs="*", metavar="PACKAGE", help=f"{', '.join(PACKAGES)} (all)")
    again = ("all", "survived", "unknown")
    add("--again", choices=again, default="unknown", help="which faults to plant (unknown)")
    add("--source", choices=("list", "drawn", "hand"), help="only these faults")
    add("--tests", nargs="+", default=[], metavar="PATH", help="in place of the package's own")
    add("--list", type=Path, default=LIST, help="a list other than faults.csv")
    add("--draw", type=int, metavar="N", help="add N faults of each PACKAGE to --list, and stop")
    add("--seed", help="of --draw, a hexadecimal number: the hash of the last commit")
    options = parser.parse_args(arguments)
    names = [
        f"helpers/{name}" if f"helpers/{name}" in PACKAGES else name
        for name in (name.rstrip("/") for name in options.packages)
    ] or list(PACKAGES)
    for name in names:
        if name not in PACKAGES:
            parser.error(f"no such package: {name}; there are {', '.join(PACKAGES)}")
    faults = read(options.list)
    if options.draw is not None:
        if options.list == LIST or not options.seed or not options.packages:
            parser.error("--draw wants a PACKAGE, a --seed and a --list of its own")
        for name in names:
            faults += draw(name, options.draw, int(options.seed[:8], 16))
        write(options.list, faults)
        print(f"{len(faults)} faults in {options.list}")
        return 0

    before = Counter((fault["package"], fault["result"]) for fault in faults)
    wanted = []
    for fault in faults:
        if fault["package"] not in names or options.source not in (None, fault["source"]):
            continue
        place = where(fault)
        if place is None:
            fault |= {"result": "gone", "by": ""}
        elif options.again == "all" or fault["result"] in ("", "gone"):
            wanted.append((fault, place))
        elif options.again == "survived" and fault["result"] == "survived":
            wanted.append((fault, place))
    write(options.list, faults)
    if wanted:
        plant(wanted, names, options.tests, options.list)
    table(names, read(options.list), before)
    return 0


def plant(wanted: list[tuple[dict, Place]], names: list[str], tests: list[str], path: Path):
    """Plant one fault after the other, and write what came of each into the list."""
    copy = Copy()
    try:
        for package in names:
            chosen = [each for each in wanted if each[0]["package"] == package]
            for some, given, ids in tests_of(package, chosen, tests) if chosen else ():
                if not any((ROOT / name.partition("::")[0]).exists() for name in given):
                    where_to_look = ", ".join(PACKAGES[package][1])
                    raise SystemExit(f"no tests of {package} in {where_to_look}: use --tests PATH")
                print(f"{package}: {len(some)} faults; {' '.join(given)}", flush=True)
                clean: dict[str, bool] = {}
                found = reached(some, copy, given, ids)
                for (fault, place), those in zip(some, found, strict=True):
                    begun = time.monotonic()
                    result, by = verdict(place, those, copy, clean)
                    line = (ROOT / place.file).read_bytes().count(b"\n", 0, place.start) + 1
                    change = f"{one_line(fault['old'])} -> {one_line(fault['new'])}"
                    print(
                        f"  {result:8} {place.file}:{line} {change[:90]} | {by or len(those)} "
                        f"| {time.monotonic() - begun:.0f} s",
                        flush=True,
                    )
                    faults = read(path)  # somebody may have written beside us
                    for each in faults:
                        if key(each) == key(fault):
                            each |= {"result": result, "by": by}
                    write(path, faults)
    finally:
        shutil.rmtree(copy.home, ignore_errors=True)


def table(names: list[str], faults: list[dict], before: Counter) -> None:
    print(f"{'package':20}{'caught':>7}{'of':>5}{'gone':>6}{'unknown':>9}{'caught before':>15}")
    now = Counter((fault["package"], fault["result"]) for fault in faults)
    shown = [name for name in names if any(fault["package"] == name for fault in faults)]
    total = Counter()
    for name in [*shown, "all"]:
        row = [
            now[name, "caught"],
            sum(fault["package"] == name for fault in faults),
            now[name, "gone"],
            now[name, ""],
            before[name, "caught"],
        ]
        row = row if name != "all" else [total[n] for n in range(5)]
        total.update(dict(enumerate(row)))
        print(f"{name:20}{row[0]:7}{row[1]:5}{row[2]:6}{row[3]:9}{row[4]:15}")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left running
    sys.exit(main())
