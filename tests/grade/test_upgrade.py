"""Work from an older student edition comes along into a newer one."""

import pytest

from helpers.grade import upgrade
from helpers.grade.task import load_task

TASK = load_task("RC-2").task  # three functions in one file
STUB = TASK.stub().replace("\n", "\n    ")
OLD = f'''"""Exchange, as it was."""

import torch
import torch.distributed as dist
from math import tau


def ring(n):
    return n + tau


def exchange_in_order(x):
    """In order."""
    return ring(x) * 2


def exchange_without_waiting(x):
    {STUB}


def exchange_in_a_batch(x):
    {STUB}
'''
NEW = f'''"""Exchange, as it is now."""

import torch
import torch.distributed as dist

LENGTH = 3


def exchange_in_order(x):
    {STUB}


def exchange_without_waiting(x):
    {STUB}


def exchange_in_a_batch(x):
    {STUB}
'''


@pytest.fixture
def editions(tmp_path):
    for name, text in (("old", OLD), ("new", NEW)):
        path = tmp_path / name / TASK.file
        path.parent.mkdir(parents=True)
        (tmp_path / name / "tasks").mkdir()
        facts = f"file={TASK.file!r}, function={TASK.functions[0]!r}"
        (tmp_path / name / "tasks/rc_2.py").write_text(f"TASK = Task(id='RC-9', {facts})")
        path.write_text(text)
    return tmp_path / "old", tmp_path / "new"


def run(path, x):
    scope = {}
    text = path.read_text().replace("import torch.distributed as dist\n", "")
    exec(text.replace("import torch\n", ""), scope)
    return scope["exchange_in_order"](x)


def test_what_is_written_comes_along_with_what_it_uses(editions, monkeypatch, capsys):
    old, new = editions
    before = {path: path.read_bytes() for path in old.rglob("*.py")}
    monkeypatch.setattr(upgrade, "all_tasks", lambda: [TASK])
    assert upgrade.main([str(old)], new) == 0
    text = (new / TASK.file).read_text()
    assert text.startswith('"""Exchange, as it is now."""') and "LENGTH = 3" in text
    assert text.count("from math import tau") == 1 and text.count("import torch\n") == 1
    assert run(new / TASK.file, 1) == pytest.approx(2 * (1 + 6.283185307))
    assert text.count(f"Task {TASK.id}: ") == 2  # the other two are still to do
    said = capsys.readouterr().out
    assert "brought along, with 2 imports or functions of yours" in said
    assert "1 tasks brought along from" in said
    assert before == {path: path.read_bytes() for path in old.rglob("*.py")}


@pytest.mark.parametrize(
    "old, new, said",
    [
        (OLD.replace("return ring(x) * 2", STUB), NEW, ""),
        (OLD.replace("return ring(x) * 2", STUB).replace("RC-2", "RC-1"), NEW, ""),  # its old id
        (OLD, OLD.replace(STUB, "return x"), "left: there is work here already"),
        ("def (", NEW, "isn't Python"),
    ],
)
def test_what_stays_behind(editions, old, new, said):
    (editions[0] / TASK.file).write_text(old)
    (editions[1] / TASK.file).write_text(new)
    assert said in (found := upgrade.bring(TASK, *editions)) and bool(said) == bool(found)
    assert (editions[1] / TASK.file).read_text() == new


def test_what_was_given_then_and_is_a_task_now_is_not_somebodys_work(editions):
    (editions[0] / "tasks/rc_2.py").write_text("TASK = Task(file='other.py', function='other')")
    assert upgrade.bring(TASK, *editions) == ""


def test_wrong_folders(editions, tmp_path, capsys):
    assert upgrade.main([str(tmp_path / "nowhere")], editions[1]) == 1
    assert "is no edition of the lab: it has no folder tasks/" in capsys.readouterr().err
    assert upgrade.main([str(editions[1])], editions[1]) == 1
    assert "name the older folder, not this one" in capsys.readouterr().err
