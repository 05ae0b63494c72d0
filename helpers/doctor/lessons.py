"""What the lab needs: what each lesson asks of a machine, and the packages in pyproject.toml."""

import re
import sys
import tomllib
from dataclasses import dataclass
from importlib import metadata

from helpers.clone import ROOT, need_clone

PROJECT = ROOT / "pyproject.toml"


@dataclass(frozen=True)
class Lesson:
    """What a lesson needs: its largest number of processes, and its memory with the kernel's."""

    number: str
    title: str
    ranks: int = 0
    gigabytes: float = 1.0


LESSONS = (
    Lesson("00", "Welcome: what your machine can do", ranks=3, gigabytes=2.0),
    Lesson("01", "One device: a small LLaMA learns to tell stories"),
    Lesson("02", "Messages and deadlocks", ranks=5, gigabytes=2.0),
    Lesson("03", "Averaging gradients", ranks=8, gigabytes=2.0),
    Lesson("04", "Averaging weights", ranks=4, gigabytes=2.0),
    Lesson("05", "The naive pipeline: a model too large for one device", ranks=4, gigabytes=2.0),
    Lesson("06", "Micro-batches: GPipe and 1F1B", ranks=4, gigabytes=2.0),
    Lesson("07", "Beyond 1F1B: chunks and zero bubble", ranks=4, gigabytes=2.0),
    Lesson("08", "DP x PP: two pipelines, six ranks, one model", ranks=6, gigabytes=2.0),
    Lesson("09", "DDP: buckets and overlap", ranks=3, gigabytes=2.0),
    Lesson("10", "Profiling and input: where does the time of a step go?", ranks=2, gigabytes=2.0),
    Lesson("11", "Sharding: no rank keeps what another keeps", ranks=3, gigabytes=2.0),
    Lesson("12", "Tensor parallelism: many devices share each layer", ranks=3, gigabytes=2.0),
    Lesson("13", "Long context: many devices share one sequence", ranks=4, gigabytes=2.0),
    Lesson("14", "Experts: more parameters than a token pays for", ranks=4, gigabytes=2.0),
    Lesson("15", "What training costs: parameters, FLOPs, bytes"),
    Lesson("16", "Training puzzles: a cluster that you can program"),
    Lesson("17", "Design your own: a model, a cluster, a layout"),
    Lesson("18", "Beyond one machine: launchers, slow links, failures", ranks=3, gigabytes=2.0),
    Lesson("19", "In torch's own words", ranks=8, gigabytes=3.0),
    Lesson("20", "GPT-2: two ways to split it", ranks=3, gigabytes=3.0),
    Lesson("21", "Forensics: twelve training runs that hide a mistake", ranks=4, gigabytes=2.0),
)


@dataclass(frozen=True)
class Package:
    """A required package.

    needed: a version range (">=2.4,<3"), or "" for any. found: the installed version, or None.
    group: "" for what lessons need, else the name of the extra ("test", "hub").
    """

    name: str
    needed: str
    found: str | None
    group: str = ""

    @property
    def fits(self) -> bool:
        return self.found is not None and in_range(self.found, self.needed)


def numbers(version: str) -> tuple[int, ...]:
    """Return the release part of a version: "2.13.0+cpu" -> (2, 13, 0), "3.0rc1" -> (3, 0)."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def compare_versions(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    """Return -1, 0 or 1; missing parts are zeros, so 2.13 equals 2.13.0."""
    length = max(len(left), len(right))
    a, b = (part + (0,) * (length - len(part)) for part in (left, right))
    return (a > b) - (a < b)


def in_range(version: str, needed: str) -> bool:
    """Return whether `version` satisfies comma-separated conditions (==, >=, <=, >, <)."""
    for condition in filter(None, needed.replace(" ", "").split(",")):
        sign, bound = re.fullmatch(r"(==|>=|<=|>|<)(.+)", condition).groups()
        order = compare_versions(numbers(version), numbers(bound))
        allowed = {"==": (0,), ">=": (0, 1), "<=": (-1, 0), ">": (1,), "<": (-1,)}[sign]
        if order not in allowed:
            return False
    return True


def split(requirement: str) -> tuple[str, str]:
    """Split "numpy>=2.4,<3" into ("numpy", ">=2.4,<3"); drop whatever follows a ";"."""
    requirement, _, _ = requirement.partition(";")
    name, needed = re.fullmatch(r"([A-Za-z0-9._-]+)\s*(.*)", requirement.strip()).groups()
    return name, needed


def for_this_system(requirement: str, system: str = sys.platform) -> bool:
    """Return whether a requirement applies here: "impi-rt; sys_platform == 'win32'" on Windows.

    `sys_platform` is the only condition that the project uses.
    """
    _, _, condition = requirement.partition(";")
    if not condition.strip():
        return True
    sign, named = re.fullmatch(r"\s*sys_platform\s*(==|!=)\s*'(\w+)'\s*", condition).groups()
    return (system == named) == (sign == "==")


def found_version(name: str) -> str | None:
    """Return the installed version, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def packages() -> tuple[Package, ...]:
    """Return every package that pyproject.toml names, with its installed version.

    Raises:
        NotAClone: this is the installed package, which has no pyproject.toml.
    """
    need_clone()
    table = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    groups = {"": table["dependencies"], **table.get("optional-dependencies", {})}
    return tuple(
        Package(name, needed, found_version(name), group)
        for group, requirements in groups.items()
        for name, needed in map(split, filter(for_this_system, requirements))
    )
