"""Right steps are right; what Adam hides; arguments. The planted mistakes stand in mistakes/."""

from dataclasses import replace

import pytest
import torch

from helpers.oracle import judge

from .simulated import UNEQUAL, Lab, adam, sgd

# Where a right step is judged, nothing may be off by more than other orders of additions give.
ALLOWED = {torch.float32: 1e-5, torch.float64: 1e-12}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("lengths", [(6,) * 6, UNEQUAL])
@pytest.mark.parametrize("tied", [False, True])
def test_right_steps_are_right(dtype, lengths, tied):
    for make_optimizer in (sgd, adam):
        verdict = Lab(3, lengths, dtype, tied, make_optimizer).judge()
        assert verdict.ok and verdict.mistake is None, str(verdict)
        gradients = [row for row in verdict.rows if row.kind == "gradient"]
        assert max(row.relative for row in gradients) < ALLOWED[dtype]


def test_one_rank_with_all_micro_batches_is_right():
    assert Lab(1).judge().ok


def test_adam_hides_a_factor_and_the_verdict_says_so():
    right = dict(dtype=torch.float64, make_optimizer=adam)
    verdict = Lab(**right).judge(weight=lambda tokens: 1.0)
    assert "2 micro-batches were summed" in verdict.mistake
    assert "The weights don't show it" in verdict.note and "Adam divides each" in verdict.note
    assert verdict.note in " ".join(str(verdict).split())
    assert Lab().judge(weight=lambda tokens: 1.0).note == ""  # SGD shows it


def test_weights_alone_under_adam_are_not_enough():
    here = Lab(make_optimizer=adam)
    steps = [replace(step, gradients={}) for step in here.train()]
    verdict = judge(here.right, steps)
    assert verdict.ok and "Only weights were compared, after Adam" in verdict.note


def test_rounding_that_adam_blows_up_is_no_mistake():
    here = Lab(make_optimizer=adam)
    step = here.right
    noise = torch.tensor([3e-9, -2e-9, 1e-9])  # what is left of a sum that should be zero
    with_noise = replace(
        step,
        before=step.before | {"keys.bias": torch.zeros(3)},
        gradients=step.gradients | {"keys.bias": noise},
        parts=(),
    )
    right = replace(with_noise, after=with_noise.update(with_noise.gradients))
    other = with_noise.gradients | {"keys.bias": -noise}
    after = with_noise.update(other)
    verdict = judge(right, replace(right, gradients=other, after=after))
    assert verdict.ok and "so where one is nearly zero its rounding decides" in verdict.note
    assert all(row.ok for row in verdict.rows)
    # The same weights from gradients that do not explain them are a mistake.
    assert not judge(right, replace(right, after=after)).ok


def test_wrong_arguments_are_one_sentence():
    here = Lab()
    steps = here.train()
    with pytest.raises(ValueError, match="^there is nothing to judge: give the Step of each rank"):
        judge(here.right, [])
    with pytest.raises(ValueError, match="^there are 3 ranks and 2 shares: give one for each$"):
        judge(here.right, steps, shares=[[0, 1, 2], [3, 4, 5]])
    with pytest.raises(ValueError, match="each of the 6 micro-batches of the one device, 0 to 5"):
        judge(here.right, steps, shares=[[0, 1], [2, 3], [4, 4]])


def test_shares_say_whose_micro_batches_are_whose():
    here = Lab(3, UNEQUAL)
    here.batches = lambda rank: here.micro_batches[rank::3]
    steps = here.train(average=lambda models: None, weight=lambda tokens: 1 / 2)
    verdict = judge(here.right, steps, shares=[[0, 3], [1, 4], [2, 5]])
    assert "every rank still has its own gradients" in verdict.mistake
    assert "own gradients" not in judge(here.right, steps).mistake


def test_facts_of_two_plain_dicts_are_enough():
    """Without parts and without an optimizer, as someone else's code may give them."""
    here = Lab()
    bare = replace(here.right, parts=(), make_optimizer=None, optimizer="")
    assert judge(bare, here.train()).ok
    steps = [replace(s, gradients={n: g if g is None else 3 * g for n, g in s.gradients.items()})
             for s in Lab().train()]  # fmt: skip
    assert "3 ranks were summed" in judge(bare, steps).mistake
