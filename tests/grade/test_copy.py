import os

import pytest

from helpers.grade.copy import MOST_FILES, CopyError, copy_lab, copy_work
from helpers.grade.marks import find_regions
from helpers.grade.task import ROOT, load_task


def names(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_takes_the_file_and_the_python_beside_and_below_it(small, task, tmp_path):
    for name in ("lab/beside.py", "lab/deep/er.py", "lab/sizes.json", "lab/big.bin", "other.py"):
        small.write(name, "x")
    small.write("lab/__pycache__/work.py", "x")
    small.write("lab/.hidden/work.py", "x")
    copy_work(small.root, task, tmp_path / "to")
    kept = ["lab/beside.py", "lab/deep/er.py", "lab/sizes.json", "lab/work.py"]
    assert names(tmp_path / "to") == kept


def solutions_in(folder):
    """The tasks of which a solution can be read below a folder that was copied from the lab."""
    found = set()
    for path in folder.rglob("*.py"):
        own = (ROOT / path.relative_to(folder)).read_text(encoding="utf-8")
        text = path.read_text(encoding="utf-8")
        found |= {r.task for r in find_regions(own) if r.body.splitlines()[0] in text}
    return found


@pytest.mark.parametrize("where", ["lab", "lab/work.py"])
def test_follows_no_link(small, task, tmp_path, where):
    small.root.joinpath(where).rename(tmp_path / "real")
    small.root.joinpath(where).symlink_to(tmp_path / "real")
    with pytest.raises(CopyError, match=f"^{where} is a link, and links are not followed"):
        copy_work(small.root, task, tmp_path / "to")


def test_leaves_out_links_pipes_and_floods_beside_it(small, task, tmp_path, monkeypatch):
    small.root.joinpath("lab/secret.py").symlink_to(ROOT / "demo.py")
    if hasattr(os, "mkfifo"):
        os.mkfifo(small.root / "lab" / "pipe.py")  # reading it would wait for ever
    for number in range(MOST_FILES + 9):
        small.write(f"lab/many/f{number}.py", "")
    small.write("lab/a_large.py", "x" * 3000)
    monkeypatch.setattr("helpers.grade.copy.MOST_BYTES", 2000)
    copy_work(small.root, task, tmp_path / "to")
    found = names(tmp_path / "to")
    assert "lab/work.py" in found and len(found) <= MOST_FILES + 1
    assert not {"lab/secret.py", "lab/pipe.py", "lab/a_large.py"} & set(found)


def test_the_lab_around_a_task_is_shown_without_its_solution(tmp_path):
    task = load_task("GP-4").task
    copy_lab(task, tmp_path)
    text = (tmp_path / task.file).read_text(encoding="utf-8")
    assert find_regions((ROOT / task.file).read_text(encoding="utf-8"))
    assert "Task GP-4: " in text
    assert solutions_in(tmp_path) == set()  # those of other tasks are not shown either
    copy_lab(load_task("GP-7").task, tmp_path / "seven")
    bodies = [r.body for r in find_regions((ROOT / "gpt2/pipeline/pipe.py").read_text("utf-8"))]
    shown = (tmp_path / "seven" / "gpt2" / "pipeline" / "pipe.py").read_text(encoding="utf-8")
    assert bodies and all(body.splitlines()[0] in shown for body in bodies)  # its check runs them
    for name in ("data_parallel/dataset.py", "project/run_data_parallel.py"):
        there = (tmp_path / "seven" / "gpt2" / name).read_text(encoding="utf-8")
        assert "is not shown here" in there
    copy_lab(load_task("DP-1").task, tmp_path / "none")
    assert not (tmp_path / "none").exists()
