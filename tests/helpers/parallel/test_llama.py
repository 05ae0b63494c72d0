"""A LLaMA in parts takes the step of one device: alone, with parts of the sequence, and tied."""

from dataclasses import replace

import pytest

from helpers.oracle import judge
from helpers.parallel import LLAMA, add_up_shared, cut, join, sequence_parallel
from helpers.ranks import launch

from .models import make_batch, make_model, one_device, part_loss, sgd_step

KINDS = ("before", "gradients", "after")
CASES = {
    "plain": {},
    "tied": {"shared": True},
    "grouped queries": {"kv_heads": 2},
}


def joined(steps):
    """One Step of the whole model, from the Steps of a TP group."""
    whole = {kind: join([getattr(step, kind) for step in steps], LLAMA) for kind in KINDS}
    return replace(steps[0], **whole)


def models(dtype):
    """Made in one place and sent: to make a model imports what takes each rank seconds."""
    return {case: make_model(dtype, **changes) for case, changes in CASES.items()}


def train(models, sequence, forget=False):
    steps = {}
    for case, model in models.items():
        heads = (model.config.num_heads, model.config.num_kv_heads)
        cut(model, LLAMA, sequence=sequence, heads=heads)
        if sequence:
            sequence_parallel(model.model.layers, ends_here=False)
        ids = make_batch()

        def one(model=model, ids=ids):
            part_loss(model(ids), ids).backward()
            if sequence and not forget:
                add_up_shared(model, None, lambda name: "norm" in name)

        steps[case] = sgd_step(model, one)
    return steps


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sequence", [False, True])
@pytest.mark.parametrize("ranks", [1, 2])
def test_the_step_is_that_of_one_device(ranks, sequence, dtype):
    found = launch(train, ranks, (models(dtype), sequence), quiet=True)
    for case, changes in CASES.items():
        right = one_device(make_model(dtype, **changes), [make_batch()])
        verdict = judge(right, joined([steps[case] for steps in found]))
        assert verdict.ok and len(verdict.rows) == 2 * len(right.before), f"{case}: {verdict}"


def test_what_is_whole_is_the_same_on_every_rank_to_the_bit():
    first, second = launch(train, 2, (models("float32"), True), quiet=True)
    for case, step in first.items():
        for name, weight in step.after.items():
            if "norm" in name:
                assert weight.equal(second[case].after[name])


def test_norms_whose_gradients_nobody_has_added_up_are_seen():
    found = launch(train, 2, (models("float64"), True, True), quiet=True)
    right = one_device(make_model("float64"), [make_batch()])
    verdict = judge(right, joined([steps["plain"] for steps in found]))
    wrong = {row.name for row in verdict.rows if not row.ok and row.kind == "gradient"}
    assert wrong == {name for name in right.before if "norm" in name}
