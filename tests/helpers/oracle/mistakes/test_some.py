"""Some tensors, ranks, micro-batches or digits are wrong, or nothing known explains the facts."""

import pytest
import torch

from ..simulated import UNEQUAL, Lab, backward, mean_over_ranks


def test_frozen_parameter_moved():
    here = Lab()

    def step(models):
        here.step(models)
        with torch.no_grad():
            for model in models:
                for p in model.parameters():
                    p *= 0.99 if not p.requires_grad else 1.0  # weight decay by hand

    mistake = here.judge(step=step).mistake
    assert mistake.startswith("the frozen parameter 'middle' moved by up to 0.01 on rank 0")
    assert "leave it out of the optimizer" in mistake


def test_frozen_parameter_got_a_gradient():
    def average(models):
        mean_over_ranks(models)
        for model in models:
            model.middle.grad = torch.ones(5)

    mistake = Lab().judge(average=average).mistake
    assert "'middle' moved by up to 0.5 on rank 0: a gradient was written to it" in mistake


def test_zeros_for_a_frozen_gradient_are_right():
    def average(models):
        mean_over_ranks(models)
        for model in models:
            model.middle.grad = torch.zeros(5)

    assert Lab().judge(average=average).ok


def test_only_some_ranks_have_the_result():
    def reduce(models):
        own = [[None if p.grad is None else p.grad.clone() for p in m.parameters()] for m in models]
        mean_over_ranks(models)
        for model, gradients in list(zip(models, own, strict=True))[1:]:
            for p, gradient in zip(model.parameters(), gradients, strict=True):
                p.grad = gradient

    mistake = Lab().judge(average=reduce).mistake
    assert "only some ranks are right: rank 0 has the gradients of one device, ranks 1, 2" in (
        mistake
    )


def test_wrong_group():
    def average(models):
        mean_over_ranks(models, group=[0, 1])
        mean_over_ranks(models, group=[2, 3])

    mistake = Lab(4, (6,) * 8).judge(average=average).mistake
    assert (
        "over the wrong group: rank 0 has that of ranks 0, 1 alone, and ranks 0, 1, 2, 3" in mistake
    )


def test_a_micro_batch_left_out():
    def one_too_few(batches, model, weight):
        backward(batches[:1] + batches[2:], model, weight)

    mistake = Lab(1, (6, 4, 5, 7)).judge(backward=one_too_few).mistake
    assert "micro-batch 1 is left out" in mistake


def test_a_micro_batch_used_twice():
    def twice(batches, model, weight):
        backward([*batches, batches[2]], model, weight)

    mistake = Lab(1, (6, 4, 5, 7)).judge(backward=twice).mistake
    assert "the micro-batches count 1, 1, 2, 1 times" in mistake


@pytest.mark.parametrize("lengths", [(6,) * 6, UNEQUAL])
def test_two_mistakes_at_once_are_read_off_the_counts(lengths):
    def last(batches, model, weight):
        backward(batches[-1:], model, weight)

    mistake = Lab(3, lengths).judge(backward=last, average=lambda models: None).mistake
    assert "count 0, 3, 0, 0, 0, 0 times in the gradients of rank 0, where each should" in mistake


@pytest.mark.parametrize(
    ("dtype", "short"),
    [
        (torch.float32, torch.bfloat16),
        (torch.float32, torch.float16),
        (torch.float64, torch.float32),
    ],
)
def test_rounding_through_another_dtype(dtype, short):
    def average(models):
        for model in models:
            for p in model.parameters():
                if p.grad is not None:
                    p.grad.copy_(p.grad.to(short))
        for parameters in zip(*(m.parameters() for m in models), strict=True):
            if parameters[0].grad is not None:
                mean = (sum(p.grad.to(short) for p in parameters)).to(dtype) / len(parameters)
                for p in parameters:
                    p.grad.copy_(mean)

    mistake = Lab(dtype=dtype).judge(average=average).mistake
    name = str(short).removeprefix("torch.")
    assert f"the gradients have the digits of {name} alone" in mistake


def test_backward_stops_at_a_layer():
    here = Lab()

    def cut(model):
        def forward(ids):
            x = model.embed(ids)
            for layer in model.layers:
                x = x.detach() if layer is model.layers[1] else x
                x = x + torch.tanh(layer(x)) * model.middle
            return model.head(x)

        return forward

    for model in here.models:
        model.forward = cut(model)
    mistake = here.judge().mistake
    assert "the backward stops before 'layers.1.weight' is passed on: 'layers.0.bias'" in mistake


def test_a_layer_without_a_gradient():
    here = Lab()
    for model in here.models:
        model.layers[1].requires_grad_(False)
    mistake = here.judge().mistake
    assert "no gradient for layers.1.weight, layers.1.bias, and every other is right" in mistake


@pytest.mark.parametrize(
    ("spoiled", "where"),
    [
        (("embed", "layers.0"), "; all are in embed to layers.0"),
        (("layers.2", "head"), "; all are in layers.2 to head"),
        (("layers.1",), "; all are in layers.1"),
    ],
)
def test_the_unknown_is_described(spoiled, where):
    here = Lab(1)
    draw = torch.Generator().manual_seed(3)

    def average(models):
        for name, p in models[0].named_parameters():
            if name.startswith(spoiled):
                p.grad += 0.01 * torch.randn(p.shape, generator=draw)

    verdict = here.judge(average=average)
    count = sum(1 for name in here.right.before if name.startswith(spoiled))
    assert f"no known mistake explains it: {count} of 8 gradients differ" in verdict.mistake
    assert f"{verdict.worst.name!r}, which differs by up to" in verdict.mistake
    assert where in verdict.mistake and "on rank" not in verdict.mistake
