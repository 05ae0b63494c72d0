"""Averages that were not taken, or over the wrong things, or too early or too late."""

import copy

import pytest
import torch

from ..simulated import UNEQUAL, Lab, adam, backward, make_batches, mean_over_ranks, sgd


def test_never_written_back():
    def average(models):
        for parameters in zip(*(m.parameters() for m in models), strict=True):
            for p in parameters:
                if p.grad is not None:
                    gradient = p.grad
                    gradient = sum(q.grad for q in parameters) / len(parameters)  # noqa: F841

    for lengths in ((6,) * 6, UNEQUAL):
        mistake = Lab(3, lengths).judge(average=average).mistake
        assert "never written back into p.grad" in mistake


def test_divided_and_nothing_communicated():
    def average(models):
        for model in models:
            for p in model.parameters():
                if p.grad is not None:
                    p.grad /= len(models)

    mistake = Lab().judge(average=average).mistake
    assert "has its own gradients divided by world_size: nothing was communicated" in mistake


@pytest.mark.parametrize(
    ("optimizer", "lengths", "hidden"),
    [(sgd, (6,) * 6, True), (adam, (6,) * 6, False), (sgd, UNEQUAL, False)],
)
def test_weights_averaged_where_gradients_were_meant(optimizer, lengths, hidden):
    here = Lab(3, lengths, make_optimizer=optimizer)

    def step(models):
        here.step(models)
        with torch.no_grad():
            for parameters in zip(*(m.parameters() for m in models), strict=True):
                mean = sum(parameters) / len(parameters)
                for p in parameters:
                    p.copy_(mean)

    def weight(tokens):
        return tokens / sum(lengths) * 3 if hidden else 1 / 2

    mistake = here.judge(average=lambda models: None, weight=weight, step=step).mistake
    assert "the weights were averaged where the gradients were meant" in mistake
    assert ("as it did here" in mistake) == hidden


@pytest.mark.parametrize("lengths", [(6,) * 6, UNEQUAL])
@pytest.mark.parametrize("which", ["first", "last"])
def test_only_one_micro_batch_counts(which, lengths):
    def zero_grad_inside(batches, model, weight):
        for batch in batches:
            model.zero_grad()
            backward([batch], model, weight)

    def ends_early(batches, model, weight):
        for batch in batches:
            backward([batch], model, weight)
            break

    way = {"last": zero_grad_inside, "first": ends_early}[which]
    mistake = Lab(3, lengths).judge(backward=way).mistake
    assert f"only the {which} micro-batch of each rank counts" in mistake


def test_zero_grad_forgotten():
    here = Lab()
    earlier = make_batches(here.lengths, seed=9)
    previous = {n: p.grad for n, p in _all_backward(here, earlier).named_parameters()}
    for rank, model in enumerate(here.models):
        backward(earlier[2 * rank : 2 * rank + 2], model, here.weight)
    mistake = here.judge(previous=previous).mistake
    assert "the sum of this step's and the step's before: zero_grad() was forgotten" in mistake


def test_stale_buffer():
    here = Lab()
    previous = _all_backward(here, make_batches(here.lengths, seed=9))
    buffer = {n: p.grad.clone() for n, p in previous.named_parameters() if p.grad is not None}

    def average(models):
        mean_over_ranks(models)
        for model in models:  # the buffer has not been filled yet
            for name, p in model.named_parameters():
                if name in buffer:
                    p.grad.copy_(buffer[name])

    verdict = here.judge(average=average, previous=buffer)
    assert "the gradients are those of the step before: a buffer is stale" in verdict.mistake


def _all_backward(here, batches):
    model = copy.deepcopy(here.model)
    backward(batches, model, lambda tokens: tokens / sum(here.lengths))
    return model


def test_one_parameter_averaged_and_the_others_left():
    def average(models):
        for parameters in zip(*(m.parameters() for m in models), strict=True):
            if parameters[0].grad is not None and parameters[0].shape == (11, 5):
                mean = sum(p.grad for p in parameters) / len(parameters)
                for p in parameters:
                    p.grad.copy_(mean)

    mistake = Lab().judge(average=average).mistake
    assert mistake.startswith("only in layers.0 to layers.2, and all else is right: every rank st")
