import json
import zipfile
from pathlib import Path

import pytest

from helpers.grade import handin
from helpers.grade.copy import CopyError, copy_work
from helpers.grade.labs import lab_of, tasks_of
from helpers.grade.submitted import opened
from helpers.grade.task import TaskError, load_task, task_ids


def test_labs_by_letters_lessons_and_tasks():
    assert [lab_of(task_id) for task_id in ("PP-2", "DP-PP-1", "PZ-P0")] == ["PP", "DP-PP", "PZ"]
    assert tasks_of(["pp-2", "PP-1"]) == ["PP-2", "PP-1"]
    assert tasks_of(["DP"]) == [t for t in task_ids() if lab_of(t) == "DP"]
    assert tasks_of(["06"]) == [t for t in task_ids() if load_task(t).task.notebook == "06"]
    assert tasks_of(["02"]) == ["RC-2", "RC-1"]  # as the lesson asks for them
    assert [t for t in tasks_of(["PZ"]) if t in ("PZ-8", "PZ-P0")] == ["PZ-8", "PZ-P0"]
    assert tasks_of(["15"])[-1] == "CK-1"
    with pytest.raises(TaskError, match="there is no task 'QQ': .* a lab .*PZ.* or the number"):
        tasks_of(["QQ"])


def test_packs_the_files_of_the_tasks_and_nothing_else(small, task, tmp_path):
    small.write("lab/notes.txt", "private")
    data, undone = handin.pack(small.root, [task])
    assert undone == {}
    (tmp_path / "x.zip").write_bytes(data)
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        assert archive.namelist() == ["handin.json", "lab/work.py"]
        assert archive.read("lab/work.py") == small.work.read_bytes()
        facts = json.loads(archive.read("handin.json"))
    assert facts["tasks"] == ["T-1"] and list(facts["files"]) == ["lab/work.py"]


def test_a_module_of_ones_own_travels_along(small, task, tmp_path):
    """What is graded after handing in is what is graded at home, to the byte."""
    small.write("lab/deep/mine.py", "def plus_one(number):\n    return number + 1\n")
    data, _ = handin.pack(small.root, [task])
    (tmp_path / "ada.zip").write_bytes(data)
    copy_work(small.root, task, tmp_path / "home")
    with opened(tmp_path / "ada.zip", [task.file]) as root:
        copy_work(root, task, tmp_path / "collected")
    home, collected = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in files_in(tmp_path / name)}
        for name in ("home", "collected")
    )
    assert collected == home
    assert Path("lab", "deep", "mine.py") in collected


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_the_same_work_gives_the_same_zip(small, task):
    first, _ = handin.pack(small.root, [task])
    small.work.touch()
    small.work.chmod(0o600)
    assert handin.pack(small.root, [task])[0] == first


def test_says_what_is_not_done(small, task):
    small.write("lab/work.py", f"def add_one(number):\n    {task.stub()}\n")
    _, undone = handin.pack(small.root, [task])
    assert undone == {"T-1": f"not done yet: {task.not_done}"}
    small.work.unlink()
    data, undone = handin.pack(small.root, [task])
    assert undone == {"T-1": "there is no file lab/work.py in the graded folder"} and data


def test_refuses_a_link_and_what_is_too_large(small, task, monkeypatch):
    monkeypatch.setattr(handin, "MOST_BYTES", 10)
    with pytest.raises(CopyError, match="lab/work.py has more than .* is this the right file"):
        handin.pack(small.root, [task])
    small.work.rename(small.root / "elsewhere.py")
    small.work.symlink_to(small.root / "elsewhere.py")
    with pytest.raises(CopyError, match="lab/work.py is a link"):
        handin.pack(small.root, [task])


def test_the_program(capsys, tmp_path):
    out = tmp_path / "DP.zip"
    assert handin.main(["DP", "--out", str(out)]) == 0
    count = len(tasks_of(["DP"]))
    assert f"packed {count} of {count} tasks' work in {out}" in capsys.readouterr().out
    assert zipfile.is_zipfile(out)
    assert handin.main([]) == 2
    assert capsys.readouterr().err.startswith("which lab? Name one: make handin LAB=DP")
    assert handin.main(["QQ"]) == 2
    assert "there is no task 'QQ'" in capsys.readouterr().err
