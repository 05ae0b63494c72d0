"""`python -m helpers.ranks -n 3 SCRIPT [ARGUMENTS]`: run a script once per rank."""

import argparse
import sys
from pathlib import Path

from helpers.files import write_whole
from helpers.ranks.start import run_script


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status, 0 if every rank finished without an error."""
    parser = argparse.ArgumentParser(prog="python -m helpers.ranks", description=__doc__)
    parser.add_argument("-n", "--ranks", type=int, default=3, help="how many ranks (3)")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds (3600)")
    parser.add_argument(
        "--checked", action="store_true", help="refuse messages that do not fit (slower)"
    )
    parser.add_argument(
        "--logs", metavar="FOLDER", help="also leave what rank 0 printed in FOLDER/out0.txt, …"
    )
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    logs = Path(options.logs) if options.logs else None
    try:
        if logs and logs.exists() and not logs.is_dir():
            raise NotADirectoryError(f"--logs {logs} is a file: name a folder")
        report = run_script(
            options.script,
            options.ranks,
            options.arguments,
            options.timeout,
            checked=options.checked,
        )
        for rank, text in enumerate(report.texts if logs else ()):
            write_whole(logs / f"out{rank}.txt", text)
    except KeyboardInterrupt as stopped:
        print(stopped, file=sys.stderr)
        return 130
    except (ValueError, OSError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if report.failure:
        print(f"\n{report.failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
