"""A LLaMA in parts takes the step of one device: alone, with parts of the sequence, and tied."""

import copy
import functools
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from helpers.oracle import judge
from helpers.parallel import LLAMA, add_up_shared, cut, join, sequence_parallel
from helpers.ranks import launch

from .models import DTYPES, make_batch, make_model, one_device, part_loss, sgd_step

pytestmark = pytest.mark.ranks

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


def step(models, sequence, forget):
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


def train(models):
    """On every rank: the steps of all models in each dtype, with and without parts of the sequence,
    and those of norms whose gradients nobody adds up."""
    ways = [(dtype, sequence, False) for dtype in DTYPES for sequence in (False, True)]
    ways.append(("float64", True, True))
    return {way: step(copy.deepcopy(models[way[0]]), *way[1:]) for way in ways}


@functools.cache
def launched(ranks):
    # Made here and sent: to make a model imports what takes each rank seconds.
    models = {
        dtype: {case: make_model(dtype, **changes) for case, changes in CASES.items()}
        for dtype in DTYPES
    }
    return launch(train, ranks, (models,), quiet=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sequence", [False, True])
@pytest.mark.parametrize("ranks", [1, 2])
def test_the_step_is_that_of_one_device(ranks, sequence, dtype):
    found = [steps[dtype, sequence, False] for steps in launched(ranks)]
    for case, changes in CASES.items():
        right = one_device(make_model(dtype, **changes), [make_batch()])
        verdict = judge(right, joined([steps[case] for steps in found]))
        assert verdict.ok and len(verdict.rows) == 2 * len(right.before), f"{case}: {verdict}"


def test_what_is_whole_is_the_same_on_every_rank_to_the_bit():
    first, second = (steps["float32", True, False] for steps in launched(2))
    for case, step in first.items():
        for name, weight in step.after.items():
            if "norm" in name:
                assert weight.equal(second[case].after[name])


def test_norms_whose_gradients_nobody_has_added_up_are_seen():
    right = one_device(make_model("float64"), [make_batch()])
    verdict = judge(right, joined([steps["float64", True, True]["plain"] for steps in launched(2)]))
    wrong = {row.name for row in verdict.rows if not row.ok and row.kind == "gradient"}
    assert wrong == {name for name in right.before if "norm" in name}


def drawn_and_refused():
    """On a rank: what it draws of a seed that all have; what is said of a model with dropout."""
    torch.manual_seed(0)
    mask = F.dropout(torch.ones(1000), 0.5)
    try:
        return mask, f"no error: {type(cut(make_model(dropout_prob=0.1), LLAMA)).__name__}"
    except ValueError as error:
        return mask, str(error)


def test_dropout_of_heads_that_are_cut_is_refused():
    (mask, said), (other, _) = launch(drawn_and_refused, 2, quiet=True)
    assert mask.equal(other)  # which is why
    assert said.startswith("model.layers.0.self_attn has dropout_prob=0.1, and ranks of one seed")
    (_, said), *_ = launch(drawn_and_refused, 1, quiet=True)
    assert said == "no error: LLama"
