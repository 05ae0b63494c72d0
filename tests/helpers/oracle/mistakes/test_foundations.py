"""Facts that cannot be compared, and weights that differ from the start."""

import pytest
import torch

from helpers.oracle import judge

from ..simulated import Lab, changed


def test_different_weights_at_the_start():
    mistake = Lab(seeds=(0, 7, 0)).judge().mistake
    assert mistake.startswith("rank 1 starts from other weights than the one device")
    mistake = Lab(seeds=(0, 7, 8)).judge().mistake
    assert mistake.startswith("ranks 1, 2 start from other weights than the one device")
    mistake = Lab(seeds=(7, 7, 7)).judge().mistake
    assert mistake.startswith("ranks 0, 1, 2 start from other weights than the one device")


def test_no_gradient_at_all():
    here = Lab()

    def step(models):
        here.step(models)
        for model in models:
            model.zero_grad()

    mistake = here.judge(step=step).mistake
    assert "no parameter has a gradient: call backward(), and take the snapshot before" in mistake


def test_not_a_number():
    mistake = Lab().judge(weight=lambda tokens: float("nan")).mistake
    assert "the gradient of 'embed.weight' on rank 0 holds NaN or infinity" in mistake


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: {f"module.{n}": t for n, t in d.items()}, "and the other side 'module."),
        (lambda d: {n: t for n, t in d.items() if "head" not in n}, "'head.weight' is nowhere on"),
        (lambda d: d | {"new": torch.ones(2)}, "the tensor 'new' on rank 0 is not in the one dev"),
        (
            lambda d: d | {"head.weight": torch.ones(4, 5)},
            "has the shape (4, 5) in place of (11, 5",
        ),
        (
            lambda d: d | {"head.weight": d["head.weight"].double()},
            "has the dtype float64 in",
        ),
    ],
)
def test_facts_that_cannot_be_compared(change, words):
    here = Lab()
    verdict = judge(here.right, [changed(step, change) for step in here.train()])
    assert words in verdict.mistake and "\n" not in verdict.mistake
    assert "WRONG" in str(verdict)


def test_a_rank_without_facts():
    here = Lab()
    steps = here.train()
    steps[1] = changed(steps[1], lambda tensors: {})
    assert judge(here.right, steps).mistake.startswith("rank 1 says nothing: its step has no w")


def test_a_tied_tensor_that_is_nowhere():
    here = Lab(tied=True)

    def without(tensors):
        return {name: tensor for name, tensor in tensors.items() if "embed" not in name}

    steps = [changed(step, without) for step in here.train()]
    assert "'embed.weight' is nowhere on rank 0 (1 of 8 names" in judge(here.right, steps).mistake
