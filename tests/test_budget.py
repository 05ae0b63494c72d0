"""The project doesn't grow unnoticed: its lines of source by part, and the most there may be.

A part may exceed its limit by 2 %, all of them together by nothing. A limit may fall; it rises only
if another one falls. `make budget` prints the table.
"""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = (".py", ".js", ".mjs", ".css", ".html", ".sh", ".bash")
LIMITS = {  # a file counts for the first part that it belongs to; "": what belongs to none
    "helpers/ranks|helpers/hang": 3_511,
    "helpers/draw|helpers/timeline|helpers/play": 3_098,
    "helpers/cost|helpers/cluster": 2_217,
    "helpers/oracle": 1_309,
    "helpers/check": 1_176,
    "helpers/lesson": 746,
    "helpers": 7_183,
    "tests": 13_750,
    "notebooks": 12_376,
    "tasks": 6_167,
    "DP|PP|DP_PP|CP|EP": 4_673,
    "simplellm": 2_431,
    "puzzles": 2_259,
    "TP": 1_550,
    "gpt2": 1_525,
    "primer": 1_274,
    "forensics|jobs|demo.py": 1_206,
    "tools|site": 1_583,
    "bench": 713,
    "": 0,
}


def counted() -> dict[str, int]:
    git = ["git", "ls-files", "-z", "--", *(f"*{ending}" for ending in SOURCE)]
    names = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = dict.fromkeys(LIMITS, 0)
    for name in filter(None, names.split("\0")):
        path = ROOT / name
        if path.is_file():
            parts = (p for p in LIMITS for one in p.split("|") if f"{name}/".startswith(f"{one}/"))
            lines[next(parts, "")] += path.read_text(encoding="utf-8").count("\n")
    return lines


def test_no_part_has_more_lines_than_it_may():
    lines = counted()
    assert {part: n for part, n in lines.items() if n > 1.02 * LIMITS[part]} == {}
    assert sum(lines.values()) <= sum(LIMITS.values())


if __name__ == "__main__":
    lines = counted()
    for part, limit in LIMITS.items():
        print(f"{part:44}{lines[part]:7,} of {limit:7,}")
    print(f"{'all':44}{sum(lines.values()):7,} of {sum(LIMITS.values()):7,}")
