"""One table of the mistakes that the oracle knows: each is planted, and told by its sentence.

A mistake spoils a `Lab`, three ranks that would train right: it changes its models, or returns what
takes the place of `backward`, `weight`, `average` or `step`. Above it stand the words of its
verdict, and of which Labs: `EVEN` has micro-batches of one length.
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
TABLE = []


def mistake(words, *lengths, **lab):
    """Add a mistake to the table: once for Labs of each of these lengths."""

    def add(spoil):
        for each in lengths or (EVEN,):
            which = {EVEN: "even", UNEQUAL: "uneven"}.get(each, f"{len(each)} parts")
            name = f"{spoil.__name__}, {which}, {words[:20]}"
            TABLE.append(pytest.param(spoil, words, lab | {"lengths": each}, id=name))
        return spoil

    return add


@pytest.mark.parametrize("spoil, words, lab", TABLE)
def test_a_mistake_is_named(spoil, words, lab):
    here = Lab(**lab)
    verdict = here.judge(**(spoil(here) or {}))
    assert not verdict.ok and words in verdict.mistake, verdict
    assert "\n" not in verdict.mistake


def columns(models):
    """The parameters of all ranks side by side, those with a gradient."""
    every = zip(*(model.parameters() for model in models), strict=True)
    return [column for column in every if column[0].grad is not None]


# --- averages ------------------------------------------------------------------------------------


@mistake("never written back into p.grad", EVEN, UNEQUAL)
def the_mean_is_dropped(here):
    def average(models):
        for column in columns(models):
            sum(p.grad for p in column) / len(column)

    return {"average": average}


@mistake("has its own gradients divided by world_size: nothing was communicated")
def divided_alone(here):
    def average(models):
        for column in columns(models):
            for p in column:
                p.grad /= len(models)

    return {"average": average}


@mistake("Only plain SGD gives the same weights both ways (as it did here)", EVEN)
@mistake("the weights were averaged where the gradients were meant", EVEN, make_optimizer=adam)
@mistake("the weights were averaged where the gradients were meant", UNEQUAL)
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


@mistake("only in layers.0 to layers.2, and all else is right: every rank st")
def some_never_averaged(here):
    def average(models):
        for column in columns(models):
            if column[0].shape == (11, 5):
                mean = sum(p.grad for p in column) / len(column)
                for p in column:
                    p.grad.copy_(mean)

    return {"average": average}


@mistake("only some ranks are right: rank 0 has the gradients of one device, ranks 1, 2")
def a_reduce_for_an_all_reduce(here):
    def average(models):
        own = [[p.grad.clone() for p in column] for column in columns(models)]
        mean_over_ranks(models)
        for column, gradients in zip(columns(models), own, strict=True):
            for p, gradient in list(zip(column, gradients, strict=True))[1:]:
                p.grad = gradient

    return {"average": average}


GROUP = "over the wrong group: rank 0 has that of ranks 0, 1 alone, and ranks 0, 1, 2, 3"


@mistake("rank 0 has that of ranks 0, 1 alone, and ranks 0, 1, 2 hold the same weights")
def two_of_three(here):
    return {"average": lambda models: mean_over_ranks(models, group=[0, 1])}


@mistake(GROUP, (6,) * 8, n_ranks=4)
def in_pairs(here):
    def average(models):
        mean_over_ranks(models, group=[0, 1])
        mean_over_ranks(models, group=[2, 3])

    return {"average": average}


@mistake("3 times too large: the gradients of 3 ranks were summed")
def ranks_summed(here):
    return {"average": lambda models: mean_over_ranks(models, divide=False)}


@mistake("6 times too large: those of 2 micro-batches were summed")
@mistake("and those of 3 ranks too")
def ranks_and_micro_batches_summed(here):
    return {"weight": lambda tokens: 1.0} | ranks_summed(here)


# --- micro-batches and their weights -------------------------------------------------------------


@mistake("2 times too large: the gradients of 2 micro-batches were", EVEN)
@mistake("the gradients of 2 micro-batches were summed", UNEQUAL)
@mistake("a mean of means: the ranks count alike, though they have", (3, 9, 5))
def undivided(here):
    return {"weight": lambda tokens: 1.0}


@mistake("the loss is a sum over tokens (40 in all)", UNEQUAL)
def summed_over_tokens(here):
    return {"weight": lambda tokens: tokens}


@mistake("2 times too small: it was divided twice for the 2 micro")
def divided_twice(here):
    return {"weight": lambda tokens: 1 / 4}


@mistake("6 times too small: it was divided twice for the 3 ranks and the 2 micro-batches")
def divided_twice_for_both(here):
    return {"weight": lambda tokens: 1 / 12}


@mistake("every gradient is 0.7 times what it should be, with 3 ra")
def a_factor_of_its_own(here):
    return {"weight": lambda tokens: 0.35}


@mistake("micro-batches count alike, though they have 3, 9, 4, 7", UNEQUAL)
def a_mean_of_means(here):
    return {"weight": lambda tokens: 1 / 2}


@mistake("only in embed to layers.0, and all else is right: every gradient is", n_ranks=1)
@mistake("6 times too large: the gradients of 6 micro-batches were summed", n_ranks=1)
def one_stage_undivided(here):
    def average(models):
        for p in [*models[0].embed.parameters(), *models[0].layers[0].parameters()]:
            p.grad *= 6

    return {"average": average}


@mistake("only the last micro-batch of each rank counts", EVEN, UNEQUAL)
def zero_grad_inside(here):
    def way(batches, model, weight):
        for batch in batches:
            model.zero_grad()
            backward([batch], model, weight)

    return {"backward": way}


@mistake("only the first micro-batch of each rank counts", EVEN, UNEQUAL)
def ends_early(here):
    return {"backward": lambda batches, *rest: backward(batches[:1], *rest)}


@mistake("micro-batch 1 is left out", (6, 4, 5, 7), n_ranks=1)
def one_left_out(here):
    return {"backward": lambda batches, *rest: backward(batches[:1] + batches[2:], *rest)}


@mistake("the micro-batches count 1, 1, 2, 1 times", (6, 4, 5, 7), n_ranks=1)
def one_used_twice(here):
    return {"backward": lambda batches, *rest: backward([*batches, batches[2]], *rest)}


@mistake("the micro-batches count 1, 2 times", (6, 4), n_ranks=1)
def second_of_two_used_twice(here):
    return {"backward": lambda batches, *rest: backward([*batches, batches[1]], *rest)}


@mistake(
    "count 0, 3, 0, 0, 0, 0 times in the gradients of rank 0, where each should", EVEN, UNEQUAL
)
def two_mistakes(here):
    last = {"backward": lambda batches, *rest: backward(batches[-1:], *rest)}
    return last | {"average": lambda models: None}


# --- what is left of the step before -------------------------------------------------------------


def the_step_before(here):
    """Its batches, and its gradients by name."""
    batches, model = make_batches(here.lengths, seed=9), copy.deepcopy(here.model)
    backward(batches, model, lambda tokens: tokens / sum(here.lengths))
    return batches, {name: p.grad for name, p in model.named_parameters()}


@mistake("the sum of this step's and the step's before: zero_grad() was forgotten")
def zero_grad_forgotten(here):
    batches, previous = the_step_before(here)
    for rank, model in enumerate(here.models):
        backward(batches[2 * rank : 2 * rank + 2], model, here.weight)
    return {"previous": previous}


@mistake("the gradients are those of the step before: a buffer is stale")
def a_stale_buffer(here):
    _, previous = the_step_before(here)

    def average(models):
        for model in models:
            for name, p in model.named_parameters():
                if p.grad is not None:
                    p.grad.copy_(previous[name])

    return {"average": average, "previous": previous}


# --- some tensors --------------------------------------------------------------------------------


@mistake("the frozen parameter 'middle' moved by up to 0.01 on rank 0")
@mistake("leave it out of the optimizer")
def a_frozen_one_decays(here):
    def step(models):
        here.step(models)
        with torch.no_grad():
            for model in models:
                model.middle *= 0.99

    return {"step": step}


@mistake("'middle' moved by up to 0.5 on rank 0: a gradient was written to it")
def a_frozen_one_got_a_gradient(here):
    def average(models):
        mean_over_ranks(models)
        for model in models:
            model.middle.grad = torch.ones(5)

    return {"average": average}


@mistake("the backward stops before 'layers.1.weight' is passed on: 'layers.0.bias'")
def cut_off(here):
    for model in here.models:

        def forward(ids, model=model):
            x = model.embed(ids)
            for layer in model.layers:
                x = x.detach() if layer is model.layers[1] else x
                x = x + torch.tanh(layer(x)) * model.middle
            return model.head(x)

        model.forward = forward


@mistake("no gradient for layers.1.weight, layers.1.bias, and every other is right")
def a_layer_is_frozen(here):
    for model in here.models:
        model.layers[1].requires_grad_(False)


@mistake("the tied parameter embed.weight = head.weight counts twice", tied=True)
def a_tied_one_counts_twice(here):
    def average(models):
        mean_over_ranks(models)
        for model in models:
            model.head.weight.grad += model.embed.weight.grad.clone()

    return {"average": average}


TIED = "only the tied parameter embed.weight = head.weight is wrong"


@mistake(TIED, tied=True)
def one_use_is_cut_off(here):
    for model in here.models:
        model.head.forward = lambda x, w=model.head.weight: x @ w.detach().T


def untie(here, add, wrong=None):
    """The two uses of one tensor are two tensors, as on the two ends of a pipeline."""
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


@mistake("has 2 gradients that were never added", tied=True, n_ranks=1)
def never_added(here):
    return untie(here, add=False)


@mistake(TIED, tied=True, n_ranks=1)
def the_first_copy_is_wrong(here):
    return untie(here, add=True, wrong="embed")


@mistake(TIED, tied=True, n_ranks=1)
def the_last_copy_is_wrong(here):
    return untie(here, add=True, wrong="head")


@mistake("no known mistake explains it: 2 of 8 gradients differ", n_ranks=1)
@mistake("; all are in layers.1", n_ranks=1)
def noise_in_a_layer(here):
    def average(models):
        for p in models[0].layers[1].parameters():
            p.grad += 0.01 * torch.randn(p.shape, generator=torch.Generator().manual_seed(3))

    return {"average": average}


# --- digits, steps and what cannot be compared ---------------------------------------------------


def short(dtype):
    def spoil(here):
        def average(models):
            for column in columns(models):
                mean = sum(p.grad.to(dtype) for p in column).to(here.dtype) / len(column)
                for p in column:
                    p.grad.copy_(mean)

        return {"average": average}

    spoil.__name__ = f"through_{dtype}"
    return spoil


mistake("the gradients have the digits of bfloat16 alone")(short(torch.bfloat16))
mistake("the gradients have the digits of float16 alone")(short(torch.float16))
mistake("have the digits of float32 alone", dtype=torch.float64)(short(torch.float32))


@mistake("the optimizer stepped before the averaging", EVEN, UNEQUAL)
@mistake("the optimizer stepped before the averaging", EVEN, UNEQUAL, make_optimizer=adam)
def stepped_too_early(here):
    def average(models):
        here.step(models)
        mean_over_ranks(models)

    return {"average": average, "step": lambda models: None}


@mistake("no weight has moved")
def never_stepped(here):
    return {"step": lambda models: None}


@mistake("every weight moved 2 times as far")
def stepped_twice(here):
    return {"step": lambda models: [here.step(models) for _ in range(2)]}


@mistake("the weights after the step are not on rank 2")
def one_rank_forgets(here):
    return {"step": lambda models: [optimizer.step() for optimizer in here.optimizers[:2]]}


@mistake("rank 1 starts from other weights than the one device", seeds=(0, 7, 0))
@mistake("ranks 1, 2 start from other weights than the one device", seeds=(0, 7, 8))
@mistake("ranks 0, 1, 2 start from other weights than the one device", seeds=(7, 7, 7))
def other_weights(here):
    pass


@mistake("no parameter has a gradient: call backward(), and take the snapshot before")
def zeroed_before_the_snapshot(here):
    def step(models):
        here.step(models)
        for model in models:
            model.zero_grad()

    return {"step": step}


@mistake("the gradient of 'embed.weight' on rank 0 holds NaN or infinity")
def not_a_number(here):
    return {"weight": lambda tokens: float("nan")}


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


def test_where_two_mistakes_explain_the_same_both_are_said():
    here = Lab(3, (2, 5, 3, 8, 6, 4, 9, 7, 3))
    verdict = here.judge(weight=lambda tokens: tokens * 9 / sum(here.lengths))
    assert "3 micro-batches were summed" in verdict.mistake
    assert ["3 ranks were summed" in sentence for sentence in verdict.also] == [True]


@pytest.mark.parametrize("name", [n for n, p in make_model().named_parameters() if p.requires_grad])
def test_a_mistake_in_any_tensor_is_found(name):
    """The quick look takes two small tensors: a mistake elsewhere must not hide behind them."""

    def average(models):
        mean_over_ranks(models)
        for model in models:
            dict(model.named_parameters())[name].grad *= 3

    said = Lab().judge(average=average).mistake
    where, _, what = said.removeprefix("only in ").partition(",")
    assert name.startswith(where) and "3 times too large" in what


def test_what_the_optimizer_hides_is_said():
    hidden = Lab(dtype=torch.float64, make_optimizer=adam).judge(weight=lambda tokens: 1.0)
    shown = Lab().judge(weight=lambda tokens: 1.0)
    assert "weights don't show it" in str(hidden) and "weights don't show it" not in str(shown)


def zeros(models):
    mean_over_ranks(models)
    for model in models:
        model.middle.grad = torch.zeros(5)


def test_what_is_no_mistake():
    verdict = Lab().judge(average=zeros)
    assert verdict.ok and "RIGHT: 17 tensors on 3 ranks" in str(verdict), "zeros for what is frozen"
    tied = Lab(1, tied=True)
    assert tied.judge(**untie(tied, add=True)).ok, "two copies that are added"


def halved(models):
    """Divide once more by two."""
    mean_over_ranks(models)
    for p in (p for model in models for p in model.parameters() if p.grad is not None):
        p.grad /= 2


def test_every_cause_of_a_factor_is_said_once():
    mistake = Lab(2, (6,) * 4).judge(average=halved).mistake
    assert "2 times too small: it was divided twice for the 2 ranks: divide by world" in mistake
    assert "; or for the 2 micro-batches: divide the loss of each" in mistake
    alone = Lab(1, (6,) * 2).judge(average=halved).mistake
    assert "twice for the 2 micro-batches: divide" in alone and "rank" not in alone
    assert "with 3 ranks and 1 micro-batch each:" in Lab(3, (6,) * 3).judge(average=halved).mistake


def test_ranks_and_micro_batches_may_both_be_means_of_means():
    mistake = Lab(2, (3, 3, 9, 9)).judge(weight=lambda tokens: 1 / 2).mistake
    assert "the ranks count alike, though they have 6, 18 tokens, or the micro-" in mistake
    assert "have 3, 3, 9, 9 tokens; weight each" in mistake


def test_each_mistake_has_its_sentence():
    code = Path(mistakes.__file__).read_text(encoding="utf-8")
    assert all(f'"{name}"' in code for name in mistakes.sentences())
    assert all(": " in sentence or "; " in sentence for sentence in mistakes.sentences().values())
