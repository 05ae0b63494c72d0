"""Of every task: its solution passes, so does other right work, and each mistake is named."""

import textwrap

import pytest

from helpers.grade.run import grade
from helpers.grade.task import ROOT, load_module, load_task, task_ids


def planted_in(task_id):
    name = load_task(task_id).path.name
    return load_module(ROOT / "tasks" / "mistakes" / name, f"mistakes_{name}")


ALONE = [(task_id, m) for task_id in task_ids() for m in planted_in(task_id).MISTAKES if m.alone]


@pytest.mark.parametrize("task_id", task_ids())
def test_the_solution_passes(task_id):
    found = grade(task_id)
    assert found.passed, f"{found}\n{found.details}"


@pytest.mark.parametrize("task_id", task_ids())
def test_right_work_passes_and_each_mistake_is_named(task_id, many):
    planted = planted_in(task_id)
    right = getattr(planted, "ALSO_RIGHT", {})
    wrong = [mistake for mistake in planted.MISTAKES if not mistake.alone]
    bodies = [*right.values(), *(mistake.body for mistake in wrong)]
    verdicts = many(task_id, [textwrap.dedent(body) for body in bodies])
    assert dict(zip(right, verdicts, strict=False)) == dict.fromkeys(right, "")
    missed = {
        mistake.name: verdict
        for mistake, verdict in zip(wrong, verdicts[len(right) :], strict=True)
        if mistake.says not in verdict
    }
    assert missed == {}


@pytest.mark.parametrize(("task_id", "mistake"), ALONE, ids=lambda p: getattr(p, "name", p))
def test_mistake_that_stops_a_rank_is_named(task_id, mistake, tmp_path, plant):
    task = load_task(task_id).task
    file = tmp_path / task.file
    file.parent.mkdir(parents=True)
    file.write_text(plant(task, mistake.body), encoding="utf-8")
    found = grade(task_id, tmp_path)
    assert not found.passed
    assert mistake.says in found.reason
