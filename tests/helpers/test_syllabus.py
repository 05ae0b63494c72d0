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


def test_the_files_are_those_of_the_table_and_a_lesson_comes_after_what_it_needs():
    stems = [lesson.stem for lesson in LESSONS]
    assert [path.stem for path in sorted((ROOT / "notebooks/source").glob("*.py"))] == stems
    names = [lesson.name for lesson in LESSONS]
    for place, lesson in enumerate(LESSONS):
        assert lesson.number == f"{place:02}" == by_name(lesson.name).number
        assert {*lesson.needs} <= {*names[:place]}, lesson.name
    with pytest.raises(KeyError, match="no lesson is named 'ddp'"):
        by_name("ddp")


def test_a_lesson_that_is_linked_has_the_number_that_the_text_says():
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/source/*.py")]
    found = [
        (path.name, number, stem)
        for path in texts
        for number, stem in re.findall(
            r"\[(?:[Ll]essons? )?(\d\d)\]\([./]*(?:notebooks/)?(\d\d_\w+)\.",
            path.read_text("utf-8"),
        )
    ]
    assert len(found) > 70
    assert [each for each in found if not each[2].startswith(each[1])] == []


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of three lessons; the table has the last one in front of the second."""
    for name in ("00_first", "01_second", "02_third"):
        for place in (f"notebooks/source/{name}.py", f"notebooks/{name}.ipynb"):
            (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / place).write_text("see lessons 01 and 02, not lesson 21")
    (tmp_path / "README.md").write_text(
        "| 02 [02](notebooks/02_third.ipynb) | Lesson 01, 02_thirds, [Lesson 02](02_third.ipynb)\n"
    )
    (tmp_path / "docs/teaching").mkdir(parents=True)
    (tmp_path / "docs/teaching/map.md").write_text("| 01 to 02 | in 2024, 12 (02) | none; 01 |\n")
    subprocess.run("git init -q && git add .", shell=True, cwd=tmp_path, check=True)
    names = enumerate(("first", "third", "second"))
    table = tuple(syllabus.Lesson(f"{n:02}", name, name, name, "?") for n, name in names)
    monkeypatch.setattr(syllabus, "LESSONS", table)
    monkeypatch.setattr(renumber, "LESSONS", table)
    return tmp_path


def test_files_and_text_follow_the_table(project, capsys):
    assert renumber.main(["--dry-run"], project) == 0
    assert (project / "notebooks/02_third.ipynb").exists()
    assert renumber.main([], project) == 0
    text = (project / "notebooks/source/01_third.py").read_text()
    assert text == "see lessons 02 and 01, not lesson 21"
    assert (project / "notebooks/02_second.ipynb").exists()
    assert (project / "README.md").read_text() == (
        "| 02 [01](notebooks/01_third.ipynb) | Lesson 02, 02_thirds, [Lesson 01](01_third.ipynb)\n"
    )
    here = (project / "docs/teaching/map.md").read_text()
    assert here == "| 02 to 01 | in 2024, 12 (02) | none; 02 |\n"
    assert renumber.main([], project) == 0
    assert capsys.readouterr().out.endswith("Every lesson has its number.\n")
