"""The stages of a pipeline, and replicas, joined by name."""

from dataclasses import replace

import pytest
import torch

from helpers.oracle import GatherError, gather, judge

from .simulated import Lab, changed


def stages(step, cut=("layers.1", "layers.2", "head")):
    """The step of the whole model as two ranks hold it."""

    def of(last):
        return changed(step, lambda held: {n: held[n] for n in held if n.startswith(cut) == last})

    return [replace(of(last), ties={}) for last in (False, True)]


def test_stages_make_up_the_model_in_the_models_order():
    here = Lab(1)
    first, last = stages(here.train()[0])
    whole = gather([last, first], names=here.right.before)
    assert list(whole.before) == list(whole.after) == list(here.right.before)
    assert judge(here.right, whole).ok


def test_two_replicas_of_two_stages():
    here = Lab(3)
    whole = [gather(stages(step), here.right.before) for step in here.train()]
    assert judge(here.right, whole).ok


def test_a_tied_parameter_on_both_ends_may_have_either_name():
    here = Lab(1, tied=True)
    first, last = stages(here.train()[0])
    ends = {}
    for kind in ("before", "gradients", "after"):
        ends[kind] = getattr(last, kind) | {"head.weight": getattr(first, kind)["embed.weight"]}
    whole = gather([first, replace(last, **ends)], here.right.before)
    assert "head.weight" in whole.before and judge(here.right, whole).ok
    half = ends["gradients"] | {"head.weight": 0.5 * ends["gradients"]["head.weight"]}
    half_first = first.gradients | {"embed.weight": half["head.weight"]}
    parts = [replace(first, gradients=half_first), replace(last, **ends | {"gradients": half})]
    assert "2 gradients that were never added" in judge(here.right, gather(parts)).mistake


def test_replicas_that_disagree_are_refused():
    here = Lab(1)
    first, last = stages(here.train()[0])
    other = {"head.weight": last.gradients["head.weight"] + 0.5}
    with pytest.raises(GatherError) as caught:
        gather([first, last, replace(last, gradients=other, before={}, after={})])
    sentence = str(caught.value)
    assert sentence.startswith(
        "replicas disagree: ranks 1 and 2 both hold the gradient of 'head.weight', and on rank 2 "
        "it differs by up to 0.5"
    )
    assert "\n" not in sentence


def test_a_name_that_nobody_holds_is_refused():
    here = Lab(1)
    first, _ = stages(here.train()[0])
    with pytest.raises(
        GatherError, match="^nobody holds the weight before the step of 'layers.1.weight': each"
    ):
        gather([first], here.right.before)
    before = {f"model.{name}": value for name, value in here.right.before.items()}
    with pytest.raises(GatherError, match=r"\(the ranks hold 'model\..*', which one device does"):
        gather([replace(here.right, before=before)], here.right.before)
    with pytest.raises(GatherError, match="^there is nothing to gather"):
        gather([])


def test_replicas_that_hold_the_same_are_one():
    here = Lab(3)
    joined = gather(here.train(), here.right.before)
    assert judge(here.right, joined).ok
    assert torch.equal(joined.before["head.weight"], here.right.before["head.weight"])
