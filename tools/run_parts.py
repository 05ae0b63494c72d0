"""Run parts of the test run, some of them side by side, without mixing what they say.

Everything here is a generator that yields as long as it waits: one loop drives several of them, and
to close one ends the processes that it started.
"""

import sys
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from parts import Part
from results import Result, read
from run_limited import LOOK_S, limited

Running = Generator[None, None, Result]


@dataclass(frozen=True)
class Place:
    """Where a part runs. results: the folder for reports and for what is said beside."""

    root: Path
    python: Path
    results: Path


def run_part(part: Part, place: Place, output: IO | None = None) -> Running:
    """Run every command of a part, also after one has failed. Returns what it came to."""
    begin = time.monotonic()
    result = Result(part.name)
    deadline = begin + 60 * part.minutes
    for number, command in enumerate(part.commands):
        report = place.results / f"{part.name.replace(' ', '-')}-{number}.xml"
        counted = command[:2] == ("-m", "pytest")
        whole = [str(place.python), *command, *([f"--junitxml={report}"] if counted else [])]
        code = yield from limited(whole, place.root, deadline - time.monotonic(), output)
        if counted and report.exists():
            result.add(read(report))
        said = " ".join(("python", *command))
        if code is None:
            result.errors.append(f"{said}: stopped after {part.minutes:g} minutes")
        elif code != 0 and not (counted and result.failures):
            result.errors.append(f"{said}: ended with code {code}")
        elif counted and not report.exists():
            result.errors.append(f"{said}: a test ended the whole process")
    result.seconds = time.monotonic() - begin
    return result


def run_round(
    lanes: Iterable[tuple[Part, ...]], place: Place, done: Callable[[Result], None]
) -> None:
    """Run lanes side by side, and call `done` with each result.

    The first lane speaks as it goes. What a part of another lane says is kept in a file, and shown
    as soon as the first lane is between two parts; what an interrupt cuts off is shown too.
    """
    said: list[Path] = []  # and not shown yet
    first, *others = [
        _lane(parts, place, done, said, aloud=number == 0) for number, parts in enumerate(lanes)
    ]
    running, waits = [first, *others], False
    try:
        while running:
            running = [lane for lane in running if next(lane, "ended") is None]
            if first not in running:
                _show(said)
                if running and not waits:
                    waits = True
                    print("\n(beside it, other parts still run: what they say follows)", flush=True)
            time.sleep(LOOK_S)
    finally:
        for lane in running:
            lane.close()
        _show(said)


def _lane(
    parts: tuple[Part, ...],
    place: Place,
    done: Callable[[Result], None],
    said: list[Path],
    aloud: bool,
) -> Generator[None, None, None]:
    """One part after the other."""
    for part in parts:
        if aloud:
            _show(said)
            _head(part.name)
            done((yield from run_part(part, place)))
            continue
        path = place.results / f"{part.name.replace(' ', '-')}.log"
        with open(path, "wb") as output:
            try:
                done((yield from run_part(part, place, output)))
            finally:
                said.append(path)


def _show(said: list[Path]) -> None:
    while said:
        path = said.pop(0)
        _head(path.stem.replace("-", " "))
        sys.stdout.buffer.write(path.read_bytes())  # in whatever letters its process wrote
        sys.stdout.buffer.flush()


def _head(name: str) -> None:
    print(f"\n== {name} ==", flush=True)
