"""`python -m bench [NAME …]`: run all races, or those of the files named, and print one table."""

import argparse
import importlib
import os
import platform
from pathlib import Path

from bench.race import HEAD, row, run

HERE = Path(__file__).parent
NOT_RACES = {"__init__", "__main__", "race"}


def main() -> None:
    known = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NOT_RACES)
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of: {', '.join(known)} (all)")
    names = parser.parse_args().names
    for name in names:
        if name not in known:
            parser.error(f"there is no bench/{name}.py: choose from {', '.join(known)}")
    print(", ".join(f"{key} {value}" for key, value in facts().items()))
    print(HEAD, flush=True)
    for name in names or known:
        for race in importlib.import_module(f"bench.{name}").races():
            print(row(race, *run(race)), flush=True)


def facts() -> dict[str, str | int | float]:
    """Return the machine and the versions that the times belong to."""
    import torch

    from helpers.ranks import usable_cores

    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": usable_cores(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else -1,
        "Python": platform.python_version(),
        "torch": torch.__version__,
    }


if __name__ == "__main__":
    main()
