"""The packages that the lab needs, from pyproject.toml.

`packaging` compares versions and knows for which systems a line is. Where it is missing, nothing of
the lab has been installed: then what is here passes, and a line for some systems isn't asked for.
"""

import re
import tomllib
from dataclasses import dataclass
from importlib import metadata

from helpers.clone import ROOT, need_clone

try:
    from packaging.markers import Marker
    from packaging.specifiers import SpecifierSet
except ImportError:
    Marker = SpecifierSet = None

PROJECT = ROOT / "pyproject.toml"


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


def in_range(version: str, needed: str) -> bool:
    """Return whether `version` satisfies comma-separated conditions; True if none can say."""
    return SpecifierSet is None or SpecifierSet(needed).contains(version, prereleases=True)


def read(line: str) -> tuple[str, str] | None:
    """Return a line's name and range: ("numpy", ">=2.4,<3"); None if it is for other systems."""
    name, needed, where = re.fullmatch(r"([\w.-]+)([^;]*);?(.*)", line).groups()
    if where and not (Marker and Marker(where).evaluate()):
        return None
    return name, needed


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
        for name, needed in filter(None, map(read, requirements))
    )
