"""One tensor under two names."""

import pytest
import torch

from ..simulated import Lab, mean_over_ranks, sgd


def test_tied_parameter_counted_twice():
    def average(models):
        mean_over_ranks(models)
        for model in models:
            model.head.weight.grad += model.embed.weight.grad.clone()  # they are one tensor

    verdict = Lab(tied=True).judge(average=average)
    assert "the tied parameter embed.weight = head.weight counts twice" in verdict.mistake
    assert verdict.worst.name == "embed.weight = head.weight"


def untied(add, wrong=None):
    """The two uses of one tensor are two tensors, as on the two ends of a pipeline."""
    here = Lab(1, tied=True)
    for model in here.models:
        model.head.weight = torch.nn.Parameter(model.head.weight.detach().clone())
    here.optimizers = [sgd(list(m.parameters())) for m in here.models]

    def average(models):
        for model in models:
            if add:
                total = model.head.weight.grad + model.embed.weight.grad
                model.head.weight.grad, model.embed.weight.grad = total, total.clone()
            if wrong:
                getattr(model, wrong).weight.grad[0] += 0.5

    return here.judge(average=average)


def test_tied_gradients_that_are_not_added():
    assert untied(add=True).ok
    mistake = untied(add=False).mistake
    assert "embed.weight = head.weight has 2 gradients that were never added" in mistake


def test_one_use_of_a_tied_parameter_is_cut_off():
    here = Lab(tied=True)
    for model in here.models:
        model.head.forward = lambda x, w=model.head.weight: x @ w.detach().T
    mistake = here.judge().mistake
    assert "only the tied parameter embed.weight = head.weight is wrong" in mistake


@pytest.mark.parametrize("wrong", ["embed", "head"])
def test_one_copy_of_a_tied_parameter_is_wrong(wrong):
    mistake = untied(add=True, wrong=wrong).mistake
    assert "only the tied parameter embed.weight = head.weight is wrong" in mistake
