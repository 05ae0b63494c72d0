"""Each task that names mutants: its reference is right, and each mutant has a sentence of its own.

A reference can't prove itself. CLOSED_FORMS says what each is compared with: arithmetic on the
case, in this process, with no message in it; or None, and where else the solution is proven.
"""

import gc
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from helpers.grade.judge import the_lab
from helpers.grade.reference import Reference, mutated
from helpers.grade.shown import shown_part
from helpers.grade.task import ROOT, TaskError, load_task, load_truth, task_ids
from helpers.grade.verify import coincide, differences, mistakes, verify

SEEDS = (1, 23)
IDS = [task_id for task_id in task_ids() if hasattr(load_truth(load_task(task_id)), "MUTANTS")]


def mean(tensors):
    return (sum(t.double() for t in tensors) / len(tensors)).to(tensors[0].dtype)


def mean_of_gradients(case):
    return [
        {
            "weight": {name: weight for name, (weight, _) in own.items()},
            "gradient": {
                name: None if gradient is None else mean([rank[name][1] for rank in case])
                for name, (_, gradient) in own.items()
            },
        }
        for own in case
    ]


def mean_of_weights(case):
    return [
        {
            "weight": {name: mean([rank[name][0] for rank in case]) for name in own},
            "gradient": {name: gradient for name, (_, gradient) in own.items()},
            "replaced": [],
        }
        for own in case
    ]


def mean_of_each_column(case):
    (_, stages), ranks = case
    columns = [mean_of_gradients(ranks[stage::stages]) for stage in range(stages)]
    return [columns[rank % stages][rank // stages] for rank in range(len(ranks))]


def by_our_own_pipeline(case):
    """What the trainer of DP-PP-2 has after the same steps."""
    ((ranks,),) = the_lab().observe(load_task("DP-PP-2"), [{}], [case])
    return [{k: v for k, v in rank.items() if k != "not in the trace"} for rank in ranks]


CLOSED_FORMS = {
    "DP-1": mean_of_gradients,
    "DP-2": mean_of_weights,
    "GP-2": mean_of_gradients,
    # tests/PP/test_scripts.py compares each of these scripts with one device, and their orders
    # with those of helpers.schedules.
    "PP-1": None,
    "PP-2": None,
    "PP-3": None,
    "PP-4": None,  # tests/PP/test_schedule_script.py: the orders of helpers.schedules
    "DP-PP-1": mean_of_each_column,
    "DP-PP-2": None,  # tests/PP/test_scripts.py: DP x PP is one device
    "TW-1": by_our_own_pipeline,  # tests/PP/test_torchs_words.py: one step is one device's
}


@pytest.fixture(scope="module")
def lab():
    yield the_lab()


@pytest.mark.parametrize("task_id", IDS)
def test_the_reference_is_right_and_each_mutant_is_told_by_its_own_sentence(task_id, lab):
    found = load_task(task_id)
    truth = load_truth(found)
    for seed in SEEDS:
        reference = Reference(lab, found, truth, list(truth.cases(seed)))
        if closed := CLOSED_FORMS[task_id]:
            for case in reference.cases:
                tolerance = getattr(truth, "TOLERANCE", None)
                assert list(differences(closed(case), reference.truth(case), tolerance)) == []
        assert coincide(reference, reference.cases) == ""
        for sentence, mutant in mistakes(reference).items():
            seen = [mutant(case) for case in reference.cases]
            assert sentence in verify(reference, reference.cases, seen, found.task.ranks)


def test_every_such_task_has_a_closed_form_and_each_closed_form_a_task():
    assert IDS and set(IDS) == set(CLOSED_FORMS)


@pytest.mark.parametrize("task_id", IDS)
def test_the_work_and_the_students_see_how_they_are_observed_and_nothing_else(task_id):
    path = load_task(task_id).path
    shown = shown_part(path.read_text(encoding="utf-8"))
    scope = {"__name__": "shown"}
    exec(compile(shown, str(path), "exec"), scope)  # it's whole
    assert scope["TASK"].id == task_id and callable(scope["observe"])
    assert not {"MUTANTS", "cases", "stopped", "explain"} & scope.keys()


def test_several_threads_may_read_a_task_at_once():
    """A thread may be switched where Python tidies up, so that is done all the time here."""
    text, often = load_task("DP-2").path.read_text(encoding="utf-8"), gc.get_threshold()
    gc.callbacks.append(lambda *_: time.sleep(0))
    gc.set_threshold(5)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert len(set(pool.map(shown_part, [text] * 300))) == 1
    finally:
        gc.set_threshold(*often)
        gc.callbacks.pop()


def test_a_reference_that_is_broken_turns_red(monkeypatch, lab):
    """The closed form would see it, and so would two mutants that are the same."""
    found = load_task("DP-1")
    truth = load_truth(found)
    monkeypatch.setattr(truth, "MUTANTS", {"a": {"flat /= world_size": "pass"}, "b": {}})
    reference = Reference(lab, found, truth, list(truth.cases(1)))
    assert coincide(reference, reference.cases) == "'b' looks like 'the truth'"
    torch.testing.assert_close(
        reference.MISTAKES["a"](reference.cases[0])[0]["gradient"]["bias"],
        reference.truth(reference.cases[0])[0]["gradient"]["bias"] * 4,
    )


@pytest.mark.parametrize(
    "old, words", [("flat -= 1", "is not in the solution"), ("flat", "stands 5 times in")]
)
def test_a_piece_that_the_solution_does_not_have_once_is_an_error_of_the_task(old, words):
    task = load_task("DP-1").task
    with pytest.raises(TaskError, match=words):
        mutated(task, {old: "pass"}, (ROOT / task.file).read_text(encoding="utf-8"))


def test_further_lines_are_indented_as_the_line_they_stand_in():
    task = load_task("GP-2").task
    text = (ROOT / task.file).read_text(encoding="utf-8")
    found = mutated(task, {"p.grad /= ranks": "p.grad /= ranks\nbreak"}, text)
    assert "            p.grad /= ranks\n            break\n" in found
