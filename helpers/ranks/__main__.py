"""`python -m helpers.ranks -n 3 SCRIPT [ARGUMENTS]`: run a script once per rank."""

import argparse
import sys
from pathlib import Path

from helpers.files import write_whole
from helpers.ranks.start import run_script


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status, 0 if every rank finished without an error."""
    parser = argparse.ArgumentParser(prog="python -m helpers.ranks", description=__doc__)
    add = parser.add_argument
    add("-n", "--ranks", type=int, default=3, help="how many ranks (3)")
    add("--timeout", type=float, default=3600.0, help="seconds (3600)")
    add("--checked", action="store_true", help="refuse messages that do not fit (slower)")
    logs = "also leave what rank 0 printed in FOLDER/out0.txt, …"
    add("--logs", metavar="FOLDER", type=Path, help=logs)
    add("script")
    add("arguments", nargs=argparse.REMAINDER)
    asked = parser.parse_args(arguments)
    try:
        if asked.logs and asked.logs.exists() and not asked.logs.is_dir():
            raise NotADirectoryError(f"--logs {asked.logs} is a file: name a folder")
        call = asked.script, asked.ranks, asked.arguments, asked.timeout
        report = run_script(*call, checked=asked.checked)
        for rank, text in enumerate(report.texts if asked.logs else ()):
            write_whole(asked.logs / f"out{rank}.txt", text)
    except KeyboardInterrupt as stopped:
        print(stopped, file=sys.stderr)
        return 130
    except (ValueError, OSError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if report.failure:
        print(f"\n{report.failure}", file=sys.stderr)
    return 1 if report.failure else 0


if __name__ == "__main__":
    sys.exit(main())
