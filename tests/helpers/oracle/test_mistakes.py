"""One table of the mistakes that the oracle knows: each is planted, and told by its sentence.

A row spoils a `Lab`, ranks that would train right: its function changes the models, or returns what
takes the place of `backward`, `weight`, `average` or `step`. EVEN has micro-batches of one length.
"""

import copy
from pathlib import Path

import pytest
import torch

from helpers.oracle import judge, mistakes

from .simulated import (
    UNEQUAL,
    Lab,
    adam,
    backward,
    changed,
    make_batches,
    make_model,
    mean_over_ranks,
    sgd,
)

EVEN = (6,) * 6


def columns(models):
    """The parameters of all ranks side by side, those with a gradient."""
    every = zip(*(model.parameters() for model in models), strict=True)
    return [column for column in every if column[0].grad is not None]


def weighed(weight):
    """Every loss is times `weight`, a number or a function of its tokens."""
    return lambda here: {"weight": weight if callable(weight) else lambda tokens: weight}


def averaged(average):
    return lambda here: {"average": average}


def taken(batches):
    """Backward goes through these of a rank's micro-batches."""
    return lambda here: {"backward": lambda own, *rest: backward(batches(own), *rest)}


def scaled(factor, *names, alone=False):
    """The mean is times `factor`, of the parameters whose names begin so; `alone`: no mean."""

    def average(models):
        if not alone:
            mean_over_ranks(models)
        for model in models:
            for name, p in model.named_parameters():
                if p.grad is not None and name.startswith(names or ("",)):
                    p.grad *= factor

    return averaged(average)


def both(*spoils):
    return lambda here: {key: value for spoil in spoils for key, value in spoil(here).items()}


def weights_averaged(here):
    def step(models):
        here.step(models)
        with torch.no_grad():
            for column in zip(*(model.parameters() for model in models), strict=True):
                mean = sum(column) / len(column)
                for p in column:
                    p.copy_(mean)

    hidden = here.lengths == EVEN and here.make_optimizer is sgd
    weight = here.weight if hidden else lambda tokens: 1 / 2
    return {"average": lambda models: None, "weight": weight, "step": step}


def some_never_averaged(models):
    for column in columns(models):
        if column[0].shape == (11, 5):
            mean = sum(p.grad for p in column) / len(column)
            for p in column:
                p.grad.copy_(mean)


def a_reduce_for_an_all_reduce(models):
    own = [[p.grad.clone() for p in column] for column in columns(models)]
    mean_over_ranks(models)
    for column, gradients in zip(columns(models), own, strict=True):
        for p, gradient in list(zip(column, gradients, strict=True))[1:]:
            p.grad = gradient


def in_pairs(models):
    mean_over_ranks(models, group=[0, 1])
    mean_over_ranks(models, group=[2, 3])


def zero_grad_inside(here):
    def way(batches, model, weight):
        for batch in batches:
            model.zero_grad()
            backward([batch], model, weight)

    return {"backward": way}


def the_step_before(here):
    """Its batches, and its gradients by name."""
    batches, model = make_batches(here.lengths, seed=9), copy.deepcopy(here.model)
    backward(batches, model, lambda tokens: tokens / sum(here.lengths))
    return batches, {name: p.grad for name, p in model.named_parameters()}


def zero_grad_forgotten(here):
    batches, previous = the_step_before(here)
    for rank, model in enumerate(here.models):
        backward(batches[2 * rank : 2 * rank + 2], model, here.weight)
    return {"previous": previous}


def a_stale_buffer(here):
    _, previous = the_step_before(here)

    def average(models):
        for model in models:
            for name, p in model.named_parameters():
                if p.grad is not None:
                    p.grad.copy_(previous[name])

    return {"average": average, "previous": previous}


def a_frozen_one_decays(here):
    def step(models):
        here.step(models)
        with torch.no_grad():
            for model in models:
                model.middle *= 0.99

    return {"step": step}


def a_frozen_one_got(value):
    def average(models):
        mean_over_ranks(models)
        for model in models:
            model.middle.grad = torch.full((5,), value)

    return averaged(average)


def cut_off(here):
    for model in here.models:

        def forward(ids, model=model):
            x = model.embed(ids)
            for layer in model.layers:
                x = x.detach() if layer is model.layers[1] else x
                x = x + torch.tanh(layer(x)) * model.middle
            return model.head(x)

        model.forward = forward


def frozen(*layers):
    def spoil(here):
        for model in here.models:
            for layer in layers:
                model.layers[layer].requires_grad_(False)

    return spoil


def one_use_is_cut_off(here):
    for model in here.models:
        model.head.forward = lambda x, w=model.head.weight: x @ w.detach().T


def untied(add, wrong=None):
    """The two uses of one tensor are two tensors, as on the two ends of a pipeline."""

    def spoil(here):
        (model,) = here.models
        model.head.weight = torch.nn.Parameter(model.head.weight.detach().clone())
        here.optimizers = [sgd(list(model.parameters()))]

        def average(models):
            if add:
                total = model.head.weight.grad + model.embed.weight.grad
                model.head.weight.grad, model.embed.weight.grad = total, total.clone()
            if wrong:
                getattr(model, wrong).weight.grad[0] += 0.5

        return {"average": average}

    return spoil


def noise_in_a_layer(models):
    for p in models[0].layers[1].parameters():
        p.grad += 0.01 * torch.randn(p.shape, generator=torch.Generator().manual_seed(3))


def short(dtype):
    def average(models):
        for column in columns(models):
            mean = sum(p.grad.to(dtype) for p in column).to(column[0].dtype) / len(column)
            for p in column:
                p.grad.copy_(mean)

    return averaged(average)


def stepped_too_early(here):
    def average(models):
        here.step(models)
        mean_over_ranks(models)

    return {"average": average, "step": lambda models: None}


def zeroed_before_the_snapshot(here):
    def step(models):
        here.step(models)
        for model in models:
            model.zero_grad()

    return {"step": step}


def stepping(step):
    return lambda here: {"step": lambda models: step(here)}


def nothing(*_):
    """Leave all as it is."""


ALONE, UNEVEN, ONE = averaged(nothing), {"lengths": UNEQUAL}, {"n_ranks": 1}
SUMMED = averaged(lambda models: mean_over_ranks(models, divide=False))
TIED = {"tied": True}
FOUR = {"lengths": (6, 4, 5, 7), "n_ranks": 1}
WITH_ADAM = {"make_optimizer": adam}
SIX = "6 times too large: the gradients of 6 micro-batches were summed"
EMBED = scaled(6, "embed", "layers.0")
TABLE = [  # words of the sentence, the Lab, what spoils it
    # averages
    ("never written back into p.grad", {}, ALONE),
    ("never written back into p.grad", UNEVEN, ALONE),
    ("has its own gradients divided by world_size: nothing", {}, scaled(1 / 3, alone=True)),
    ("has its own gradients times 0.7: nothing was comm", {}, scaled(0.7, alone=True)),
    ("Only plain SGD gives the same weights both ways (as it did here)", {}, weights_averaged),
    ("the weights were averaged where the gradients were meant", WITH_ADAM, weights_averaged),
    ("the weights were averaged where the gradients were meant", UNEVEN, weights_averaged),
    ("only in layers.0 to layers.2, and all else is right: every rank st", {},
     averaged(some_never_averaged)),
    ("only some ranks are right: rank 0 has the gradients of one device, ranks 1, 2", {},
     averaged(a_reduce_for_an_all_reduce)),
    ("rank 0 has that of ranks 0, 1 alone, and ranks 0, 1, 2 hold the same weights", {},
     averaged(lambda models: mean_over_ranks(models, group=[0, 1]))),
    ("over the wrong group: rank 0 has that of ranks 0, 1 alone, and ranks 0, 1, 2, 3",
     {"lengths": (6,) * 8, "n_ranks": 4}, averaged(in_pairs)),
    # factors
    ("3 times too large: the gradients of 3 ranks were summed", {}, SUMMED),
    ("6 times too large: those of 2 micro-batches were summed, and those of 3 ranks too", {},
     both(weighed(1.0), SUMMED)),
    ("2 times too large: the gradients of 2 micro-batches were", {}, weighed(1.0)),
    ("the gradients of 2 micro-batches were summed", UNEVEN, weighed(1.0)),
    ("a mean of means: the ranks count alike, though they have 3, 9, 5 tokens",
     {"lengths": (3, 9, 5)}, weighed(1.0)),
    ("the loss is a sum over tokens (40 in all)", UNEVEN, weighed(lambda tokens: tokens)),
    ("2 times too small: it was divided twice for the 2 micro", {}, weighed(1 / 4)),
    ("6 times too small: it was divided twice for the 3 ranks and the 2 micro-batches", {},
     weighed(1 / 12)),
    ("2 times too small: it was divided twice for the 2 ranks: divide by world",
     {"n_ranks": 2, "lengths": (6,) * 4}, scaled(1 / 2)),
    ("; or for the 2 micro-batches: divide the loss of each",
     {"n_ranks": 2, "lengths": (6,) * 4}, scaled(1 / 2)),
    ("is 0.5 times what it should be, with 3 ranks and 1 micro-batch each:",
     {"lengths": (6,) * 3}, scaled(1 / 2)),
    ("every gradient is 0.7 times what it should be, with 3 ra", {}, weighed(0.35)),
    ("micro-batches count alike, though they have 3, 9, 4, 7", UNEVEN, weighed(1 / 2)),
    ("the ranks count alike, though they have 6, 18 tokens, or the micro-batches count alike, "
     "though they have 3, 3, 9, 9 tokens; weight each",
     {"n_ranks": 2, "lengths": (3, 3, 9, 9)}, weighed(1 / 2)),
    ("only in embed to layers.0, and all else is right: every gradient is " + SIX, ONE, EMBED),
    # micro-batches
    ("only the last micro-batch of each rank counts", {}, zero_grad_inside),
    ("only the last micro-batch of each rank counts", UNEVEN, zero_grad_inside),
    ("only the first micro-batch of each rank counts", {}, taken(lambda own: own[:1])),
    ("only the first micro-batch of each rank counts", UNEVEN, taken(lambda own: own[:1])),
    ("micro-batch 1 is left out", FOUR, taken(lambda own: own[:1] + own[2:])),
    ("the micro-batches count 1, 1, 2, 1 times", FOUR, taken(lambda own: [*own, own[2]])),
    ("the micro-batches count 1, 2 times", {"lengths": (6, 4), "n_ranks": 1},
     taken(lambda own: [*own, own[1]])),
    ("count 0, 3, 0, 0, 0, 0 times in the gradients of rank 0, where each should", {},
     both(taken(lambda own: own[-1:]), ALONE)),
    ("count 0, 3, 0, 0, 0, 0 times in the gradients of rank 0, where each should", UNEVEN,
     both(taken(lambda own: own[-1:]), ALONE)),
    ("the sum of this step's and the step's before: zero_grad() was", {}, zero_grad_forgotten),
    ("the gradients are those of the step before: a buffer is stale", {}, a_stale_buffer),
    # some tensors
    ("'middle' moved by up to 0.01 on rank 0: leave it out of the optimizer", {},
     a_frozen_one_decays),
    ("'middle' moved by up to 0.5 on rank 0: a gradient was written to it", {},
     a_frozen_one_got(1.0)),
    ("the backward stops before 'layers.1.weight' is passed on: 'layers.0.bias'", {}, cut_off),
    ("no gradient for layers.1.weight, layers.1.bias, and every other is", {}, frozen(1)),
    ("no gradient for layers.1.weight, layers.1.bias, layers.2.weight, …, and", {}, frozen(1, 2)),
    ("the tied parameter embed.weight = head.weight counts twice", TIED, scaled(2, "embed")),
    ("only the tied parameter embed.weight = head.weight is wrong", TIED, one_use_is_cut_off),
    ("has 2 gradients that were never added", TIED | ONE, untied(add=False)),
    ("only the tied parameter embed.weight = head.weight is wrong", TIED | ONE,
     untied(add=True, wrong="embed")),
    ("only the tied parameter embed.weight = head.weight is wrong", TIED | ONE,
     untied(add=True, wrong="head")),
    ("no known mistake explains it: 2 of 8 gradients differ", ONE, averaged(noise_in_a_layer)),
    ("; all are in layers.1", ONE, averaged(noise_in_a_layer)),
    # digits and steps
    ("the gradients have the digits of bfloat16 alone", {}, short(torch.bfloat16)),
    ("the gradients have the digits of float16 alone", {}, short(torch.float16)),
    ("have the digits of float32 alone", {"dtype": torch.float64}, short(torch.float32)),
    ("the optimizer stepped before the averaging", {}, stepped_too_early),
    ("the optimizer stepped before the averaging", UNEVEN | WITH_ADAM, stepped_too_early),
    ("no weight has moved", {}, stepping(nothing)),
    ("every weight moved 2 times as far", {},
     stepping(lambda here: [here.step(here.models) for _ in range(2)])),
    ("the weights after the step are not on rank 2", {},
     stepping(lambda here: [optimizer.step() for optimizer in here.optimizers[:2]])),
    # what cannot be compared
    ("rank 1 starts from other weights than the one device", {"seeds": (0, 7, 0)}, nothing),
    ("ranks 1, 2 start from other weights than the one", {"seeds": (0, 7, 8)}, nothing),
    ("no parameter has a gradient: call backward(), and take", {}, zeroed_before_the_snapshot),
    ("the gradient of 'embed.weight' on rank 0 holds NaN or inf", {}, weighed(float("nan"))),
]  # fmt: skip


@pytest.mark.parametrize("words, lab, spoil", TABLE)
def test_a_mistake_is_named(words, lab, spoil):
    here = Lab(**lab)
    verdict = here.judge(**(spoil(here) or {}))
    assert not verdict.ok and words in verdict.mistake, verdict
    assert "\n" not in verdict.mistake


NO_FACTS = {
    "and the other side 'module.": lambda d: {f"module.{n}": t for n, t in d.items()},
    "'head.weight' is nowhere on": lambda d: {n: t for n, t in d.items() if "head" not in n},
    "the tensor 'new' on rank 0 is not in the one dev": lambda d: d | {"new": torch.ones(2)},
    "has the shape (4, 5) in place of (11, 5": lambda d: d | {"head.weight": torch.ones(4, 5)},
    "has the dtype float64 in": lambda d: d | {"head.weight": d["head.weight"].double()},
    "rank 0 says nothing: its step has no w": lambda d: {},
}


@pytest.mark.parametrize("words", NO_FACTS)
def test_facts_that_cannot_be_compared(words):
    here = Lab()
    verdict = judge(here.right, [changed(step, NO_FACTS[words]) for step in here.train()])
    assert words in verdict.mistake and "\n" not in verdict.mistake and "WRONG" in str(verdict)


@pytest.mark.parametrize(
    ("lab", "spoil", "others"),
    [
        (Lab(3, (2, 5, 3, 8, 6, 4, 9, 7, 3)), weighed(lambda t: t * 9 / 47), ["3 ranks were su"]),
        (Lab(1), scaled(6), ["the loss is a sum over tokens (36 in all)"]),
        (Lab(2, (6,) * 4), weighed(1.0), ["the gradients of 2 ranks were summed"]),
        (Lab(), ALONE, []),
    ],
)
def test_all_causes_that_explain_the_numbers_are_said(lab, spoil, others):
    also = lab.judge(**spoil(lab)).also
    assert len(also) == len(others) and all(o in a for o, a in zip(others, also, strict=True))


@pytest.mark.parametrize("name", [n for n, p in make_model().named_parameters() if p.requires_grad])
def test_a_mistake_in_any_tensor_is_found(name):
    """The quick look takes two small tensors: a mistake elsewhere must not hide behind them."""
    here = Lab()
    said = here.judge(**scaled(3, name)(here)).mistake
    where, _, what = said.removeprefix("only in ").partition(",")
    assert name.startswith(where) and "3 times too large" in what


def test_what_is_no_mistake():
    here = Lab()
    verdict = here.judge(**a_frozen_one_got(0.0)(here))
    assert verdict.ok and "RIGHT: 17 tensors on 3 ranks" in str(verdict), "zeros for what is frozen"
    tied = Lab(1, tied=True)
    assert tied.judge(**untied(add=True)(tied)).ok, "two copies that are added"


def test_each_mistake_has_its_sentence():
    code = Path(mistakes.__file__).read_text(encoding="utf-8")
    assert all(f'"{name}"' in code for name in mistakes.sentences())
    assert all(": " in sentence or "; " in sentence for sentence in mistakes.sentences().values())
