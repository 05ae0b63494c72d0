"""The project doesn't grow unnoticed: the lines of source of each part, and the most it may have.

A limit may fall; it rises only if another one falls. `make budget` prints the table.
"""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = (".py", ".js", ".mjs", ".css", ".html", ".sh", ".bash")
LIMITS = {  # a file counts for the first part that it belongs to; "" is everything else
    "helpers/ranks|helpers/hang": 3_511,
    "helpers/draw|helpers/timeline|helpers/play": 3_085,
    "helpers/cost|helpers/cluster": 2_198,
    "helpers/oracle": 1_298,
    "helpers/check": 1_174,
    "helpers/lesson": 741,
    "helpers": 6_983,
    "tests": 13_160,
    "notebooks": 12_376,
    "tasks": 6_167,
    "DP|PP|DP_PP|CP|EP": 4_673,
    "simplellm": 2_430,
    "puzzles": 2_130,
    "TP": 1_523,
    "gpt2": 1_502,
    "primer": 1_272,
    "forensics|jobs|demo.py": 1_195,
    "tools|site": 1_577,
    "bench": 713,
    "": 0,
}


def counted() -> dict[str, int]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    lines = dict.fromkeys(LIMITS, 0)
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix in SOURCE and path.is_file():
            parts = (p for p in LIMITS for one in p.split("|") if f"{name}/".startswith(f"{one}/"))
            lines[next(parts, "")] += path.read_text(encoding="utf-8").count("\n")
    return lines


def test_no_part_has_more_lines_than_it_may():
    lines = counted()
    assert {part: n for part, n in lines.items() if n > 1.02 * LIMITS[part]} == {}
    assert 0 < sum(lines.values()) <= sum(LIMITS.values())


if __name__ == "__main__":
    for part, lines in counted().items():
        print(f"{part:44}{lines:7,} of {LIMITS[part]:7,}")
    print(f"{'all':44}{sum(counted().values()):7,} of {sum(LIMITS.values()):7,}")
