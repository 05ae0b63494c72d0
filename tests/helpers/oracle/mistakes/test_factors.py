"""Sums for means, and divisions too many."""

from functools import partial

import pytest

from ..simulated import UNEQUAL, Lab, mean_over_ranks


@pytest.mark.parametrize(
    ("lengths", "weight", "words"),
    [
        ((6,) * 6, lambda tokens: 1.0, "2 times too large: the gradients of 2 micro-batches were"),
        (UNEQUAL, lambda tokens: 1.0, "the gradients of 2 micro-batches were summed"),
        (UNEQUAL, lambda tokens: tokens, "the loss is a sum over tokens (40 in all)"),
        ((6,) * 6, lambda tokens: 1 / 4, "2 times too small: it was divided twice for the 2 micro"),
        ((6,) * 6, lambda tokens: 0.35, "every gradient is 0.7 times what it should be, with 3 ra"),
        (UNEQUAL, lambda tokens: 1 / 2, "micro-batches count alike, though they have 3, 9, 4, 7"),
        ((3, 9, 5), lambda tokens: 1.0, "a mean of means: the ranks count alike, though they have"),
    ],
)
def test_losses_that_are_weighted_wrongly(lengths, weight, words):
    verdict = Lab(3, lengths).judge(weight=weight)
    assert words in verdict.mistake and verdict.also == ()


def test_ranks_summed_and_micro_batches_too():
    add = partial(mean_over_ranks, divide=False)
    mistake = Lab().judge(average=add).mistake
    assert "3 times too large: the gradients of 3 ranks were summed" in mistake
    mistake = Lab().judge(weight=lambda tokens: 1.0, average=add).mistake
    assert "6 times too large: those of 2 micro-batches were summed" in mistake
    assert "and those of 3 ranks too" in mistake


@pytest.mark.parametrize("lengths", [(6,) * 9, (2, 5, 3, 8, 6, 4, 9, 7, 3)])
def test_where_two_mistakes_explain_the_same_both_are_said(lengths):
    verdict = Lab(3, lengths).judge(weight=lambda tokens: tokens * 9 / sum(lengths))
    assert "3 micro-batches were summed" in verdict.mistake
    assert ["3 ranks were summed" in sentence for sentence in verdict.also] == [True]


def halved(models):
    """Divide once more by two."""
    mean_over_ranks(models)
    for p in (p for model in models for p in model.parameters() if p.grad is not None):
        p.grad /= 2


def test_every_cause_of_a_factor_is_said_once():
    mistake = Lab(2, (6,) * 4).judge(average=halved).mistake
    assert "2 times too small: it was divided twice for the 2 ranks: divide by world" in mistake
    assert "; or for the 2 micro-batches: divide the loss of each" in mistake
    assert "the loss is divided by the tokens of all ranks" in mistake
    alone = Lab(1, (6,) * 2).judge(average=halved).mistake
    assert "twice for the 2 micro-batches: divide" in alone and "rank" not in alone
    assert "with 3 ranks and 1 micro-batch each:" in Lab(3, (6,) * 3).judge(average=halved).mistake


def test_ranks_and_micro_batches_may_both_be_means_of_means():
    mistake = Lab(2, (3, 3, 9, 9)).judge(weight=lambda tokens: 1 / 2).mistake
    assert "the ranks count alike, though they have 6, 18 tokens, or the micro-" in mistake
    assert "have 3, 3, 9, 9 tokens; weight each" in mistake


def test_a_factor_on_some_stages():
    here = Lab(1)

    def average(models):  # the first stage adds up its micro-batches and forgets to divide
        for p in [*models[0].embed.parameters(), *models[0].layers[0].parameters()]:
            p.grad *= 6

    mistake = here.judge(average=average).mistake
    assert mistake.startswith("only in embed to layers.0, and all else is right: every gradient is")
    assert "6 times too large: the gradients of 6 micro-batches were summed" in mistake


def test_a_mistake_in_a_tensor_that_the_quick_look_leaves_out_is_found():
    """The quick look takes two small tensors: a mistake elsewhere must not hide behind them."""
    for spoiled in (n for n, g in Lab().right.gradients.items() if g is not None):

        def average(models, spoiled=spoiled):
            mean_over_ranks(models)
            for model in models:
                dict(model.named_parameters())[spoiled].grad *= 3

        mistake = Lab().judge(average=average).mistake
        assert f"only in {spoiled}" in mistake or "only in embed" in mistake or "head" in mistake
        assert "3 times too large: the gradients of 3 ranks were summed" in mistake
