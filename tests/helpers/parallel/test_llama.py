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

from .models import make_batch, make_model, one_device, part_loss, sgd_step

pytestmark = pytest.mark.ranks

CASES = {"plain": {}, "tied": {"shared": True}, "grouped queries": {"num_kv_heads": 2}}
DTYPES = (torch.float32, torch.float64)


def step(model, sequence, forget):
    cut(model, LLAMA, sequence=sequence, heads=(4, model.config.num_kv_heads))
    if sequence:
        sequence_parallel(model.model.layers, ends_here=False)

    def one():
        part_loss(model(make_batch()), make_batch()).backward()
        if sequence and not forget:
            add_up_shared(model, None, lambda name: "norm" in name)

    return sgd_step(model, one)


def train(models):
    """On every rank: the steps of all models, with and without parts of the sequence, and those of
    norms whose gradients nobody adds up; and what is said of a model with dropout."""
    ways = (False, False), (True, False), (True, True)
    found = {(*key, *way): step(copy.deepcopy(models[key]), *way) for key in models for way in ways}
    torch.manual_seed(0)
    found["mask"] = F.dropout(torch.ones(1000), 0.5)
    try:
        cut(make_model(dropout_prob=0.1), LLAMA)
    except ValueError as error:
        found["said"] = str(error)
    return found


@functools.cache
def launched(ranks):
    # Made here and sent: to make a model imports what takes each rank seconds.
    models = {(dtype, case): make_model(dtype, **CASES[case]) for dtype in DTYPES for case in CASES}
    return launch(train, ranks, (models,), quiet=True)


def judged(ranks, dtype, case, *way):
    right = one_device(make_model(dtype, **CASES[case]), [make_batch()])
    steps = [found[dtype, case, *way] for found in launched(ranks)]
    kinds = ("before", "gradients", "after")
    whole = {kind: join([getattr(step, kind) for step in steps], LLAMA) for kind in kinds}
    return right, judge(right, replace(steps[0], **whole)), steps


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sequence", [False, True])
@pytest.mark.parametrize("ranks", [1, 2])
def test_the_step_is_that_of_one_device(ranks, sequence, dtype):
    for case in CASES:
        right, verdict, steps = judged(ranks, dtype, case, sequence, False)
        assert verdict.ok and len(verdict.rows) == 2 * len(right.before), f"{case}: {verdict}"
        for name, weight in steps[0].after.items():
            if "norm" in name:  # what is whole is the same on every rank to the bit
                assert weight.equal(steps[-1].after[name])


def test_norms_whose_gradients_nobody_has_added_up_are_seen():
    right, verdict, _ = judged(2, torch.float64, "plain", True, True)
    wrong = {row.name for row in verdict.rows if not row.ok and row.kind == "gradient"}
    assert wrong == {name for name in right.before if "norm" in name}


def test_dropout_of_heads_that_are_cut_is_refused():
    one, two = launched(2)
    assert one["mask"].equal(two["mask"])  # which is why
    assert one["said"].startswith("model.layers.0.self_attn has dropout_prob=0.1, and ranks of one")
    assert "said" not in launched(1)[0]
