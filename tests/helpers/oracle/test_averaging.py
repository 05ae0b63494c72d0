import pytest
import torch

from helpers.oracle import averaging_mistake

RANKS = 3


def ranks(dtype=torch.float32):
    draw = torch.Generator().manual_seed(5)
    return [
        {
            "first": torch.randn(2, 3, generator=draw).to(dtype),
            "second": torch.randn((), generator=draw).to(dtype),
            "none": None,
            "last": torch.randn(4, generator=draw).to(dtype),
        }
        for _ in range(RANKS)
    ]


def every(before, function):
    """What each rank holds after `function(tensors of all ranks, stacked)`."""
    after = {
        name: None if before[0][name] is None else function(torch.stack([r[name] for r in before]))
        for name in before[0]
    }
    return [dict(after) for _ in before]


def each(before, function):
    """What each rank holds after `function(its own tensor)`."""
    return [{n: None if t is None else function(t) for n, t in r.items()} for r in before]


def mean(stacked):
    return stacked.mean(0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_mean_is_right(dtype):
    before = ranks(dtype)
    assert averaging_mistake(before, every(before, mean)) is None


def test_zeros_for_none_are_right():
    before = ranks()
    after = every(before, mean)
    after[1]["none"] = torch.zeros(2)
    assert averaging_mistake(before, after) is None
    after[1]["none"] = torch.ones(2)
    assert "'none' takes no part, and has a gradient now" in averaging_mistake(before, after)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda b: every(b, lambda s: s.sum(0)), "the sum over the ranks, 3 times too large"),
        (lambda b: every(b, lambda s: s.sum(0) / 9), "divided twice"),
        (lambda b: every(b, lambda s: s.sum(0) / 2), "divided by 2, where world_size is 3"),
        (lambda b: every(b, lambda s: -s.mean(0)), "-1 times what it should be"),
        (lambda b: each(b, lambda t: t), "still has its own gradients: the mean was never written"),
        (lambda b: each(b, lambda t: t / 3), "nothing was communicated"),
        (lambda b: every(b, lambda s: s.amax(0)), "ReduceOp.MAX: a mean needs ReduceOp.SUM"),
        (lambda b: every(b, lambda s: s.amin(0) / 3), "ReduceOp.MIN: a mean needs ReduceOp.SUM, t"),
        (lambda b: every(b, lambda s: s.prod(0)), "ReduceOp.PRODUCT"),
        (lambda b: [*every(b, mean)[:1], *b[1:]], "only rank 0 has the mean"),
        (lambda b: [b[0], *every(b, mean)[1:]], "only ranks 1, 2 have the mean"),
        (lambda b: each(every(b, mean), lambda t: t * float("nan")), "holds NaN or infinity"),
        (lambda b: each(every(b, mean), lambda t: t.double()), "has the dtype torch.float64"),
        (lambda b: each(b, lambda t: t + 1), "are not the mean over the ranks. first on rank 0"),
    ],
)
def test_each_mistake_has_its_sentence(change, words):
    before = ranks()
    sentence = averaging_mistake(before, change(before))
    assert words in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("averaged", "words"),
    [
        (["first"], "only the first parameter was averaged"),
        (["first", "second"], "stops at the first parameter whose p.grad is None"),
        (["first", "last"], "only first, last were averaged"),
    ],
)
def test_some_parameters_were_left(averaged, words):
    before = ranks()
    right = every(before, mean)
    after = [
        {name: (right if name in averaged else before)[rank][name] for name in before[rank]}
        for rank in range(RANKS)
    ]
    assert words in averaging_mistake(before, after)


def test_lost_digits():
    before = ranks(torch.float64)
    after = each(every(before, mean), lambda t: t.float().double())
    assert "float32's accuracy" in averaging_mistake(before, after)


def test_words_of_another_task():
    before = ranks()
    sentence = averaging_mistake(before, before, what="weight", place="p")
    assert sentence.startswith("every rank still has its own weights: the mean was never written b")
    assert "back into p (" in sentence
