"""The losses, against their definitions written out; and the schedule of the learning rate."""

import argparse
import math

import pytest
import torch

from simplellm.losses import causalLLMLoss, check_finite, perplexityLoss
from simplellm.options import make_optimizer

GENERATOR = torch.Generator().manual_seed(0)
LOGITS = torch.randn(2, 5, 7, generator=GENERATOR)
TARGET = torch.randint(0, 7, (2, 5), generator=GENERATOR)


def surprise(row, i):
    """Minus the log-probability of the token that follows position i."""
    return -LOGITS[row, i].log_softmax(-1)[TARGET[row, i + 1]].item()


@pytest.mark.parametrize("pad_idx", [-100, 3])
def test_the_loss_is_the_mean_over_all_next_tokens_that_are_not_padding(pad_idx):
    target = TARGET.clone()
    target[0, 3:] = pad_idx
    kept = [(row, i) for row in range(2) for i in range(4) if target[row, i + 1] != pad_idx]
    expected = sum(surprise(row, i) for row, i in kept) / len(kept)
    loss = causalLLMLoss(LOGITS, target, 7, pad_idx)
    assert loss.shape == () and loss.dtype == torch.float32
    assert loss.item() == pytest.approx(expected, rel=1e-6)
    half = LOGITS.bfloat16()
    assert torch.equal(causalLLMLoss(half, TARGET, 7), causalLLMLoss(half.float(), TARGET, 7))
    assert causalLLMLoss(LOGITS.double(), TARGET, 7).dtype == torch.float64


def test_nothing_to_predict_gives_zero_with_gradient_zero():
    for logits, target in [(LOGITS, torch.full((2, 5), -100)), (LOGITS[:, :1], TARGET[:, :1])]:
        logits = logits.clone().requires_grad_()
        loss = causalLLMLoss(logits, target, 7)
        loss.backward()
        assert loss.item() == 0 and (logits.grad == 0).all()


def test_perplexity_is_averaged_over_sequences_and_counts_what_the_mask_lets_through():
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    rows = [
        math.exp((surprise(0, 0) + surprise(0, 1)) / 2),
        math.exp(sum(surprise(1, i) for i in range(4)) / 4),
    ]
    assert perplexityLoss(LOGITS, TARGET, mask).item() == pytest.approx(sum(rows) / 2, rel=1e-5)
    padded = TARGET.clone()
    padded[0, 3:] = -100
    assert torch.equal(perplexityLoss(LOGITS, padded), perplexityLoss(LOGITS, TARGET, mask))
    mask[0] = 0
    assert perplexityLoss(LOGITS, TARGET, mask).item() == pytest.approx(rows[1], rel=1e-5)
    assert perplexityLoss(LOGITS, TARGET, torch.zeros(2, 5)).isnan()


@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_a_loss_that_is_no_number(value):
    sentence = rf"the loss became {value} at step 12: lower the learning rate \(--lr\)"
    with pytest.raises(FloatingPointError, match=sentence):
        check_finite(torch.tensor(value), 12)


@pytest.mark.parametrize("loss", [lambda x, y: causalLLMLoss(x, y, 7), perplexityLoss])
def test_targets_that_do_not_fit(loss):
    with pytest.raises(ValueError, match="the logits have 7 classes and vocab_size is 8"):
        causalLLMLoss(LOGITS, TARGET, 8)
    with pytest.raises(ValueError, match=r"do not fit: \(2, 5, 7\) and \(2, 4\)"):
        loss(LOGITS, TARGET[:, :4])
    with pytest.raises(ValueError, match=r"do not fit: \(5, 7\) and \(5,\)"):
        loss(LOGITS[0], TARGET[0])
    target = TARGET.clone()
    target[1, 2] = 7
    with pytest.raises(ValueError, match="token 7 at row 1, column 2 is outside the vocabulary"):
        loss(LOGITS, target)


def train(schedule, steps, state=None):
    """Return the rate of each step, and the optimizer's state."""
    flags = argparse.Namespace(optimizer="sgd", lr=0.1, steps=100, lr_schedule=schedule)
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer, rates = make_optimizer(flags, [weight]), []
    if state:
        optimizer.load_state_dict(state)
    for _ in range(steps):
        before = weight.detach().clone()
        weight.grad = torch.ones(2)
        optimizer.step()
        rates.append((before - weight)[0].item())
    return rates, optimizer.state_dict()


def test_the_rate_rises_stays_and_falls_and_a_continued_run_goes_on():
    rates, _ = train("decay", 100)
    assert rates[:20] == pytest.approx([0.1 * n / 20 for n in range(1, 21)], abs=1e-6)
    assert rates[19:40] == pytest.approx([0.1] * 21, abs=1e-6)
    fall = [0.002 + 0.098 * (99 - n) / 59 for n in range(41, 100)]
    assert rates[41:] == pytest.approx(fall, abs=1e-6)
    first, state = train("decay", 30)
    assert first + train("decay", 70, state)[0] == pytest.approx(rates, abs=1e-6)
    assert train("constant", 9)[0] == pytest.approx([0.1] * 9)
