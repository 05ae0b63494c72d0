"""The digest follows every file a lesson uses, and no other."""

import pytest

from lessons.book import LessonFailed
from lessons.digest import digest, needed_files


def append(book, name, text="\n# changed\n"):
    path = book.root / name
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


@pytest.mark.parametrize(
    "name",
    [
        "notebooks/source/00_halving.py",
        "notebooks/numbers_here.py",
        "notebooks/tables/__init__.py",
        "notebooks/tables/small.py",
        "notebooks/tables/assets/small.txt",
        "data/eight.txt",
    ],
)
def test_a_change_in_what_the_lesson_uses_changes_the_digest(book, name):
    before = digest(book)
    append(book, name)
    assert digest(book) != before


def test_a_file_that_the_lesson_does_not_use_does_not_count(book):
    before = digest(book)
    append(book, "notebooks/unused.py")
    (book.root / "notebooks/tables/__pycache__").mkdir()
    (book.root / "notebooks/tables/__pycache__/small.pyc").write_bytes(b"made")
    assert digest(book) == before


def test_line_ends_of_windows_do_not_count(book):
    before = digest(book)
    for path in needed_files(book):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert digest(book) == before


def test_a_new_file_that_a_needs_pattern_matches_counts(book):
    before = digest(book)
    (book.root / "data/nine.txt").write_text("9\n", encoding="utf-8")
    assert digest(book) != before


def test_a_script_named_in_a_string_counts_with_what_it_imports(book):
    (book.root / "primer").mkdir()
    (book.root / "primer/intro.py").write_text("from beside import x\n", encoding="utf-8")
    (book.root / "primer/beside.py").write_text("x = 1\n", encoding="utf-8")
    append(book, "notebooks/source/00_halving.py", '\nrun_script("../primer/intro.py")\n')
    names = {path.name for path in needed_files(book)}
    assert {"intro.py", "beside.py"} <= names


@pytest.mark.parametrize(
    "line",
    ["from . import near", "from .near import x", "import room.near", "from room import near"],
)
def test_every_form_of_import_is_followed(book, line):
    room = book.folder / "room"
    room.mkdir()
    (room / "start.py").write_text(f"def late():\n    {line}\n", encoding="utf-8")
    (room / "near.py").write_text("x = 1\n", encoding="utf-8")
    append(book, "notebooks/source/00_halving.py", "\nimport room.start\n")
    assert room / "near.py" in needed_files(book)


def test_a_needs_line_that_matches_nothing_is_refused(book):
    append(book, "notebooks/source/00_halving.py", "\n# needs: data/*.csv\n")
    with pytest.raises(LessonFailed, match=r"'# needs: data/\*\.csv' matches no file"):
        digest(book)


def test_code_that_is_no_python_is_refused_with_its_line(book):
    (book.folder / "numbers_here.py").write_text("x = 1\ndef (\n", encoding="utf-8")
    with pytest.raises(LessonFailed, match=r"numbers_here\.py, line 2: invalid syntax"):
        digest(book)


def test_a_task_that_the_lesson_checks_counts_with_its_truth_and_its_work_alone(book):
    facts = 'id="T-1", title="t", file="lab/work.py", function="f", notebook="00", points=1'
    files = {
        "lab/work.py": "import beside\n",
        "lab/beside.py": "",
        "tasks/__init__.py": "",
        "tasks/t_1.py": "from helpers.grade import Task\n\nrun = None\n"
        f'TASK = Task({facts}, minutes=1, hints=("a", "b", "c"))\n',
        "tasks/t_2.py": "",
        "tasks/truth/__init__.py": "",
        "tasks/truth/t_1.py": "from tasks.truth import _shared\n",
        "tasks/truth/_shared.py": "",
        "tasks/truth/t_2.py": "",
    }
    for name, text in files.items():
        (book.root / name).parent.mkdir(parents=True, exist_ok=True)
        (book.root / name).write_text(text, encoding="utf-8")
    append(book, "notebooks/source/00_halving.py", '\n# %%\ncheck("T-1")\n')
    found = {path.relative_to(book.root).as_posix() for path in needed_files(book)}
    assert {name for name in files if not name.endswith("t_2.py")} <= found
    assert not [name for name in found if name.endswith("t_2.py")]
