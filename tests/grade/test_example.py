import pytest

from helpers.grade import example
from helpers.grade.marks import find_regions
from helpers.grade.submitted import submissions
from helpers.grade.task import load_task


def test_makes_a_class_that_can_be_graded(tmp_path, capsys):
    folder = tmp_path / "class"
    assert example.main([str(folder), "DP-1", "DP-2", "--count", "8"]) == 0
    assert "8 submissions of 2 tasks" in capsys.readouterr().out
    found = submissions(folder)
    assert [path.name for path in found[2:5]] == [
        "student-03",
        "student-04.zip",
        "student-05",
    ]
    task = load_task("DP-1").task
    texts = {
        (path / task.file).read_text(encoding="utf-8") for path in found if path.suffix != ".zip"
    }
    assert len(texts) >= 3, "right, wrong and not done"
    assert any("Task DP-1: " in text for text in texts)
    assert any(find_regions(text) for text in texts)


def test_refuses_a_folder_that_is_there_and_an_edition_without_mistakes(
    tmp_path, capsys, monkeypatch
):
    assert example.main([str(tmp_path)]) == 2
    assert "is there already: name a new folder" in capsys.readouterr().err
    task = load_task("DP-1").task
    monkeypatch.setattr(example, "ROOT", tmp_path)
    with pytest.raises(example.TaskError, match="only the edition with the solutions has mistakes"):
        example.bodies_of(task)
