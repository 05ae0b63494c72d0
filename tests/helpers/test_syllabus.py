"""The one table of the lessons: its numbers, and what follows it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import syllabus
from helpers.syllabus import LESSONS, by_name

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import renumber  # noqa: E402


def test_files_and_titles_are_those_of_the_table_and_a_lesson_comes_after_what_it_needs():
    sources = sorted((ROOT / "notebooks/source").glob("*.py"))
    titles = [re.search(r"^# # (.+)$", path.read_text("utf-8"), re.M)[1] for path in sources]
    assert [(path.stem, title) for path, title in zip(sources, titles, strict=True)] == [
        (lesson.stem, lesson.title) for lesson in LESSONS
    ]
    names = [lesson.name for lesson in LESSONS]
    for place, lesson in enumerate(LESSONS):
        assert lesson.number == f"{place:02}" == by_name(lesson.name).number
        assert {*lesson.needs} <= {*names[:place]}, lesson.name
    with pytest.raises(KeyError, match="no lesson is named 'ddp'"):
        by_name("ddp")


def test_a_lesson_that_is_linked_has_the_number_that_the_text_says():
    link = re.compile(r"\[(?:[Ll]essons? )?(\d\d)\]\([./]*(?:notebooks/)?(\d\d)_\w+\.")
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/source/*.py")]
    found = [(path, *pair) for path in texts for pair in link.findall(path.read_text("utf-8"))]
    assert len(found) > 70 and [each for each in found if each[1] != each[2]] == []


def test_files_and_text_follow_the_table(tmp_path, monkeypatch):
    """The table of a project of three lessons has the last one in front of the second."""
    for name in ("00_first", "01_second", "02_third"):
        for place in (f"notebooks/source/{name}.py", f"notebooks/{name}.ipynb"):
            (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / place).write_text("see lessons 01 and 02, not lesson 21")
    readme, page = tmp_path / "README.md", tmp_path / "docs/teaching/map.md"
    page.parent.mkdir(parents=True)
    page.write_text("| 01 to 02 | in 2024, 12 (02) | none; 01 |\n")
    rows = "| 02 [02](notebooks/02_third.ipynb) | Lesson 01, 02_thirds, [Lesson 02](02_third.ipynb)"
    readme.write_text(rows)
    subprocess.run("git init -q && git add .", shell=True, cwd=tmp_path, check=True)
    names = enumerate(("first", "third", "second"))
    table = tuple(syllabus.Lesson(f"{n:02}", name, name, "?") for n, name in names)
    monkeypatch.setattr(syllabus, "LESSONS", table)
    monkeypatch.setattr(renumber, "LESSONS", table)
    assert renumber.main(["--dry-run"], tmp_path) == 0 and readme.read_text() == rows
    assert renumber.main([], tmp_path) == 0
    text = (tmp_path / "notebooks/source/01_third.py").read_text()
    assert text == "see lessons 02 and 01, not lesson 21"
    assert (tmp_path / "notebooks/02_second.ipynb").exists()
    assert readme.read_text() == (
        "| 02 [01](notebooks/01_third.ipynb) | Lesson 02, 02_thirds, [Lesson 01](01_third.ipynb)"
    )
    assert page.read_text() == "| 02 to 01 | in 2024, 12 (02) | none; 02 |\n"
