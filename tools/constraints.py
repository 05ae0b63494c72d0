"""Write constraints.txt: the version of every package in .venv, once all tests have passed there.

    make constraints

Set-up installs these (`python tools/install.py --newest` doesn't). Made with the oldest Python that
the lab knows, whose versions every later one has too: a version that asks for a later release of it
is refused. torch is pinned in pyproject.toml, by build.
"""

import re
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parent.parent
HEAD = "# The versions with which all tests have passed. Written by `make constraints`.\n"
# What set-up chooses itself, what is ours, and what only a build of torch with CUDA brings.
LEFT_OUT = re.compile(r"(torch|pip|setuptools|distributed-ml-lab|triton|(nvidia|cuda)-.*)$")


OLDEST = "3.11.0"


def too_new(distributions: Iterable[metadata.Distribution]) -> list[str]:
    """Return the packages, with their versions, that the oldest Python can't have."""
    asks = [(d, d.metadata["Requires-Python"] or "") for d in distributions]
    return [f"{d.name}=={d.version}" for d, asked in asks if OLDEST not in SpecifierSet(asked)]


def pins(installed: dict[str, str]) -> str:
    """Return the file's text. installed: version by name, as the packages spell it."""
    names = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in installed.items()}
    kept = sorted((name, version) for name, version in names.items() if not LEFT_OUT.match(name))
    return HEAD + "".join(f"{name}=={version}\n" for name, version in kept)


if __name__ == "__main__":
    if refused := too_new(metadata.distributions()):
        sys.exit(f"not for Python {OLDEST}: {', '.join(refused)}; install earlier ones, then again")
    found = {d.metadata["Name"]: d.version for d in metadata.distributions()}
    (ROOT / "constraints.txt").write_text(pins(found), encoding="utf-8")
    print(f"constraints.txt: {len(found)} packages of Python {sys.version.split()[0]}")
