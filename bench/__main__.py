"""`python -m bench [NAME …]`: run all races, or those of the files named."""

import argparse
import importlib
import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path

from bench.race import HEAD, row, run

HERE = Path(__file__).parent
NOT_RACES = {"__init__", "__main__", "race"}


def main(arguments: list[str] | None = None) -> int:
    """The command line; gives the exit status."""
    known = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NOT_RACES)
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of: {', '.join(known)} (all)")
    parser.add_argument("--json", default="build/bench/results.json", help="where to write it")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in known:
            parser.error(f"there is no bench/{name}.py: choose from {', '.join(known)}")
    machine = facts()
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    print(HEAD, flush=True)
    results, notes = [], []
    for name in options.names or known:
        for race in importlib.import_module(f"bench.{name}").races():
            result = run(race)
            print(row(result), flush=True)
            results.append({**asdict(result), "ratio": result.ratio})
            if result.note and result.note not in notes:
                notes.append(result.note)
    for note in notes:
        print(f"\n{note}")
    path = Path(options.json)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine, "races": results}, indent=2) + "\n")
    print(f"\nwritten to {options.json}")
    return 0


def facts() -> dict[str, str | int | float]:
    """The machine and the versions that the times belong to."""
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
    sys.exit(main())
