"""Of every task: its solution passes, so does other right work, and each mistake is named."""

import textwrap

import pytest

from helpers.grade.task import ROOT, load_module, load_task, task_ids


def planted_in(task_id):
    name = load_task(task_id).path.name
    return load_module(ROOT / "tasks" / "mistakes" / name, f"mistakes_{name}")


ALONE = [(task_id, m) for task_id in task_ids() for m in planted_in(task_id).MISTAKES if m.alone]


@pytest.mark.parametrize("task_id", task_ids())
def test_the_solution_passes(task_id, ahead):
    found = ahead(task_id)
    assert found.passed, f"{found}\n{found.details}"


@pytest.mark.parametrize("task_id", task_ids())
def test_right_work_passes_and_each_mistake_is_named(task_id, many, each):
    planted = planted_in(task_id)
    right = getattr(planted, "ALSO_RIGHT", {})
    wrong = [mistake for mistake in planted.MISTAKES if not mistake.alone]
    bodies = [*right.values(), *(mistake.body for mistake in wrong)]
    bodies = [textwrap.dedent(body) for body in bodies]
    verdicts = each(task_id, bodies) if load_task(task_id).task.libraries else many(task_id, bodies)
    assert dict(zip(right, verdicts, strict=False)) == dict.fromkeys(right, "")
    missed = {
        mistake.name: verdict
        for mistake, verdict in zip(wrong, verdicts[len(right) :], strict=True)
        if mistake.says not in verdict
    }
    assert missed == {}


@pytest.mark.parametrize(("task_id", "mistake"), ALONE, ids=lambda p: getattr(p, "name", p))
def test_mistake_that_stops_a_rank_is_named(task_id, mistake, ahead):
    found = ahead(task_id, mistake)
    assert not found.passed
    assert mistake.says in found.reason
