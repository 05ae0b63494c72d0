"""Sums for means, and divisions too many."""

import pytest

UNEQUAL = (3, 9, 4, 7, 12, 5)


def test_micro_batches_summed(lab):
    verdict = lab().judge(weight=lambda tokens: 1.0)
    assert "2 times too large: the gradients of 2 micro-batches were summed" in verdict.mistake
    assert verdict.also == () and not verdict.ok


def test_ranks_summed(lab, kit):
    def add(models):
        kit.mean_over_ranks(models, divide=False)

    verdict = lab().judge(average=add)
    assert "3 times too large: the gradients of 3 ranks were summed" in verdict.mistake


def test_micro_batches_and_ranks_summed(lab, kit):
    def add(models):
        kit.mean_over_ranks(models, divide=False)

    verdict = lab().judge(weight=lambda tokens: 1.0, average=add)
    assert "6 times too large: those of 2 micro-batches were summed" in verdict.mistake
    assert "and those of 3 ranks too" in verdict.mistake


@pytest.mark.parametrize("lengths", [(6,) * 9, (2, 5, 3, 8, 6, 4, 9, 7, 3)])
def test_where_two_mistakes_explain_the_same_both_are_said(lab, lengths):
    verdict = lab(3, lengths).judge(weight=lambda tokens: tokens * 9 / sum(lengths))
    assert "3 micro-batches were summed" in verdict.mistake
    assert ["3 ranks were summed" in sentence for sentence in verdict.also] == [True]


def test_sums_that_also_ignore_token_counts_are_still_sums(lab, kit):
    verdict = lab(3, UNEQUAL).judge(weight=lambda tokens: 1.0)
    assert "the gradients of 2 micro-batches were summed" in verdict.mistake


def test_loss_is_a_sum_over_tokens(lab):
    verdict = lab(3, UNEQUAL).judge(weight=lambda tokens: tokens)
    assert "the loss is a sum over tokens (40 in all)" in verdict.mistake


def test_divided_twice(lab):
    verdict = lab().judge(weight=lambda tokens: 1 / 4)
    assert "2 times too small: it was divided twice for the 2 micro-batches" in verdict.mistake


def test_a_factor_without_a_reason(lab):
    verdict = lab().judge(weight=lambda tokens: 0.7 / 2)
    assert "every gradient is 0.7 times what it should be, with 3 ranks and 2" in verdict.mistake


def test_a_factor_on_some_stages(lab, kit):
    here = lab(1)

    def average(models):  # the first stage adds up its micro-batches and forgets to divide
        for p in [*models[0].embed.parameters(), *models[0].layers[0].parameters()]:
            p.grad *= 6

    mistake = here.judge(average=average).mistake
    assert mistake.startswith("only in embed to layers.0, and all else is right: every gradient is")
    assert "6 times too large: the gradients of 6 micro-batches were summed" in mistake


def test_a_mistake_in_a_tensor_that_the_quick_look_leaves_out_is_found(lab, kit):
    """The quick look takes two small tensors: a mistake elsewhere must not hide behind them."""
    for spoiled in (n for n, g in lab().right.gradients.items() if g is not None):

        def average(models, spoiled=spoiled):
            kit.mean_over_ranks(models)
            for model in models:
                dict(model.named_parameters())[spoiled].grad *= 3

        mistake = lab().judge(average=average).mistake
        assert f"only in {spoiled}" in mistake or "only in embed" in mistake or "head" in mistake
        assert "3 times too large: the gradients of 3 ranks were summed" in mistake
