"""How many lines each part of the project may have, and has.

    python tools/budget.py       the table; not 0 if a part has more than it may

All tracked source text counts: code, comments, docstrings, blank lines; not that of tests/frozen,
which judges a rewriting and then goes. A limit may fall. It rises only if another one falls.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = (".py", ".js", ".mjs", ".css", ".html", ".sh", ".bash")
# A file counts for the first part that it belongs to.
LIMITS = {
    "helpers/check": 1_312,
    "helpers/ranks|helpers/hang": 4_076,
    "helpers/draw": 1_720,
    "helpers/timeline|helpers/play": 1_705,
    "helpers/lesson": 816,
    "helpers/cost|helpers/cluster": 2_700,
    "helpers/oracle": 1_619,
    "helpers/checkpoint": 412,
    "helpers": 7_583,
    "tasks": 6_936,
    "tests/tasks": 1_028,
    "tests": 18_175,
    "notebooks": 12_681,
    "simplellm": 2_654,
    "puzzles": 2_533,
    "gpt2": 1_646,
    "DP": 3_401,
    "TP": 1_700,
    "PP|DP_PP|CP|EP": 2_149,
    "primer": 1_426,
    "forensics": 671,
    "jobs": 395,
    "tools|site": 2_181,
    "bench": 949,
    "demo.py": 227,
}


def counted(root: Path = ROOT) -> dict[str, int]:
    """Return the lines of each part, in the order of `LIMITS`; "" is what belongs to none."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    lines = dict.fromkeys([*LIMITS, ""], 0)
    for name in names:
        if name.endswith(SOURCE) and "tests/frozen/" not in name and (root / name).is_file():
            part = next((part for part in LIMITS if belongs(name, part)), "")
            lines[part] += (root / name).read_text(encoding="utf-8").count("\n")
    return lines


def belongs(name: str, part: str) -> bool:
    return any(f"{name}/".startswith(f"{folder}/") for folder in part.split("|"))


def over(lines: dict[str, int], limits: dict[str, int] = LIMITS) -> list[str]:
    """Return a sentence for each part that has more lines than it may, and one for all of them.

    A part may exceed its limit by 2 %, so that a small change need not look for lines elsewhere.
    """
    found = [
        f"{part or 'what is in no part'} has {lines[part]:,} lines and may have "
        f"{limits.get(part, 0):,}: make it smaller, or take as much from another part's limit"
        for part in lines
        if lines[part] > 1.02 * limits.get(part, 0)
    ]
    whole, most = sum(lines.values()), sum(limits.values())
    if whole > most:
        found.append(f"all parts have {whole:,} lines and may have {most:,}: make one smaller")
    return found


def main() -> int:
    lines = counted()
    for part, limit in LIMITS.items():
        print(f"{part:28}{lines[part]:8,} of {limit:8,}")
    print(f"{'all':28}{sum(lines.values()):8,} of {sum(LIMITS.values()):8,}")
    wrong = over(lines)
    print(*wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
