"""`python tools/renumber.py [--dry-run]`: bring files and text into line with helpers/lessons.csv.

A lesson's number is its place in the table. Where a file has another one, its files move, and all
tracked text follows: "lesson NN", "lessons NN and NN", file names, links such as [NN](…), and the
rows of two tables. Says what it changed; what stands in another form is for eyes.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from helpers.syllabus import LESSONS

ROOT = Path(__file__).resolve().parents[1]
KINDS = {*".py .md .ipynb .js .html .toml .yml .css .csv .json .sh".split(), ""}
NUMBERS = re.compile(
    r"\b([Ll]essons?\]?[ _-])(\d\d)((?:(?:, (?:and )?| and | or | to |-|–)\d\d)*)\b"
)
# Files in whose tables a cell that begins with two digits, or with "none; ", names lessons.
BY_LESSON = ("docs/teaching/map.md", "docs/teaching/misconceptions.md")
OF_THEIR_TIME = ("CHANGELOG.md",)  # numbers that stay as they were
CELL = re.compile(r"(?<=\| )(?:none; )?\d\d\b[^|(]*")
NAME = re.compile(r"(?<!\d)\d\d_([a-z][a-z0-9_]*?)(?![a-z0-9_])")
LINK = re.compile(r"\[\d\d\](\((?:\.\./)*(?:notebooks/|lessons/)?(\d\d)_)")
LINKED = re.compile(r'(href="(?:lessons/)?(\d\d)_\w+\.html">)\d\d(?=</a>)')


def moved(root: Path = ROOT) -> dict[str, str]:
    """Return {number that a file has: the one that the table gives it}, for all lessons.

    Raises SystemExit where table and files don't hold the same lessons.
    """
    there = {path.stem[3:]: path.stem[:2] for path in (root / "notebooks/source").glob("*.py")}
    wanted = {lesson.name: lesson.number for lesson in LESSONS}
    if odd := sorted(there.keys() ^ wanted.keys()):
        raise SystemExit(
            f"{', '.join(odd)}: in notebooks/source or in helpers/lessons.csv, but not in both"
        )
    return {number: wanted[name] for name, number in there.items()}


def renumbered(text: str, new: dict[str, str], rows: bool = False) -> str:
    """Return a text in which lessons have their new numbers.

    rows: whether the cells of its tables name lessons by their numbers alone.
    """

    def number(found: str) -> str:
        return new.get(found, found)

    def phrase(found: re.Match) -> str:
        return found[1] + number(found[2]) + re.sub(r"\d\d", lambda n: number(n[0]), found[3])

    stems = {lesson.name: lesson.stem for lesson in LESSONS}
    text = NAME.sub(lambda found: stems.get(found[1], found[0]), text)
    text = LINK.sub(lambda found: f"[{found[2]}]{found[1]}", text)
    text = LINKED.sub(lambda found: found[1] + found[2], text)
    text = NUMBERS.sub(phrase, text)
    if rows:
        text = CELL.sub(lambda cell: re.sub(r"\b\d\d\b", lambda n: number(n[0]), cell[0]), text)
    return text


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Move the files, rewrite the text, and say where."""
    parser = argparse.ArgumentParser(prog="python tools/renumber.py", description=__doc__)
    parser.add_argument("--dry-run", action="store_true", help="only say what would change")
    options = parser.parse_args(arguments)
    new = moved(root)
    if all(old == now for old, now in new.items()):
        print("Every lesson has its number.")
        return 0
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True, text=True
    ).stdout
    for name in filter(None, names.split("\0")):
        path = root / name
        if name in OF_THEIR_TIME:
            continue
        if path.suffix not in KINDS or path.is_symlink() or not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        after = renumbered(text, new, rows=name in BY_LESSON)
        if after != text:
            changed = sum(a != b for a, b in zip(text.split("\n"), after.split("\n"), strict=True))
            print(f"{name}: {changed} lines")
            if not options.dry_run:
                path.write_text(after, encoding="utf-8")
    away = []
    for folder, kind in (("notebooks/source", "py"), ("notebooks", "ipynb")):
        for lesson in LESSONS:
            # A new lesson has no notebook yet.
            for path in (root / folder).glob(f"[0-9][0-9]_{lesson.name}.{kind}"):
                if path.stem != lesson.stem:
                    print(f"{folder}/{path.name} -> {lesson.stem}.{kind}")
                    away.append((path, path.with_name(f"{lesson.stem}.{kind}")))
    if not options.dry_run:
        for path, target in away:
            path.rename(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
