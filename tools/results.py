"""From the reports of several pytest runs to one table and one closing line."""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

SHOWN = 10  # failures listed at the end


@dataclass
class Room:
    """The tests of one folder: how many, and their seconds."""

    tests: int = 0
    seconds: float = 0.0


@dataclass
class Result:
    """What one part came to.

    failures: "test: message", one for each test that failed or broke.
    errors: what went wrong outside of tests (a linter, a crash, a time limit).
    """

    name: str
    seconds: float = 0.0
    passed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    rooms: dict[str, Room] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return bool(self.failures or self.errors)

    def add(self, other: "Result") -> None:
        """Take over the counts of `other`."""
        self.passed += other.passed
        self.skipped += other.skipped
        self.failures += other.failures
        self.errors += other.errors
        for name, room in other.rooms.items():
            mine = self.rooms.setdefault(name, Room())
            mine.tests += room.tests
            mine.seconds += room.seconds


def room_of(classname: str) -> str:
    """The room that a test stands in: "tests.helpers.trace.test_chrome" -> "helpers/trace"."""
    folders = []
    for part in classname.split("."):
        if part.startswith("test_"):
            return "/".join(folders) or part.removeprefix("test_")
        if part != "tests":
            folders.append(part)
    return "/".join(folders) or "other"


def read(report: Path) -> Result:
    """The counts of one JUnit report that pytest wrote; a cut-off one is an error, no exception."""
    result = Result(report.stem)
    try:
        cases = ElementTree.parse(report).iter("testcase")
    except ElementTree.ParseError:
        result.errors.append(f"{report.name} is not complete: pytest was stopped while it wrote it")
        return result
    for case in cases:
        room = result.rooms.setdefault(
            room_of(case.get("classname") or case.get("name", "")), Room()
        )
        room.tests += 1
        room.seconds += float(case.get("time", 0))
        bad = [child for child in case if child.tag in ("failure", "error")]
        if bad:
            where = f"{case.get('classname')}::{case.get('name')}".lstrip(":")
            result.failures.append(f"{where}: {message_of(bad[0])}")
        elif any(child.tag == "skipped" for child in case):
            result.skipped += 1
        else:
            result.passed += 1
    return result


def message_of(bad: ElementTree.Element) -> str:
    """One line on why a test failed."""
    first = (bad.get("message") or "").strip().splitlines()
    if first and first[0] != "collection failure":
        return first[0]
    # A module that could not be imported: the reason stands at the end of its traceback.
    last = (bad.text or "").strip().splitlines() or ["no message"]
    return last[-1].removeprefix("E").strip()


def counts(results: list[Result]) -> str:
    """As pytest counts: "1 failed, 20 passed, 1 error"."""
    numbers = {
        "failed": sum(len(result.failures) for result in results),
        "passed": sum(result.passed for result in results),
        "skipped": sum(result.skipped for result in results),
        "error": sum(len(result.errors) for result in results),
    }
    if numbers["error"] > 1:
        numbers["errors"] = numbers.pop("error")
    return ", ".join(f"{n} {word}" for word, n in numbers.items() if n) or "no tests ran"


def shortened(text: str, width: int = 160) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def clock(seconds: float) -> str:
    """Seconds as pytest writes them at its end: "12.34s", "75.00s (0:01:15)"."""
    if seconds < 60:
        return f"{seconds:.2f}s"
    whole = int(seconds)
    return f"{seconds:.2f}s ({whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d})"


def table(results: list[Result], seconds: float) -> list[str]:
    """One row for a part, one for each room in a part that has several.

    seconds: from the first to the last; less than the sum where parts ran side by side.
    """
    lines = [f"{'part':<28}{'seconds':>8}  result"]
    for result in results:
        said = counts([result]) if result.failed or result.passed or result.skipped else "ok"
        lines.append(f"{result.name:<28}{result.seconds:>8.1f}  {said}")
        if len(result.rooms) > 1:
            for name, room in sorted(result.rooms.items()):
                lines.append(f"  {name:<26}{room.seconds:>8.1f}  {room.tests}")
    beside = sum(result.seconds for result in results) > seconds + 1
    lines.append(f"{'total, some side by side' if beside else 'total':<28}{seconds:>8.1f}")
    return lines


def summary(results: list[Result], seconds: float) -> str:
    """The table, the first failures, and last a line in pytest's own form."""
    lines = table(results, seconds)
    wrong = [f"{r.name}: {text}" for r in results for text in r.errors + r.failures]
    if wrong:
        lines += ["", "What went wrong:"] + [f"  {shortened(text)}" for text in wrong[:SHOWN]]
        if len(wrong) > SHOWN:
            lines.append(f"  and {len(wrong) - SHOWN} more")
    closing = f" {counts(results)} in {clock(seconds)} "
    return "\n".join([*lines, "", closing.center(80, "=")])
