"""Right gradients, and wrong weights after the step."""

import pytest

from ..simulated import UNEQUAL, Lab, adam, mean_over_ranks, sgd


@pytest.mark.parametrize("lengths", [(6,) * 6, UNEQUAL])
@pytest.mark.parametrize("optimizer", [sgd, adam])
def test_the_optimizer_stepped_before_the_averaging(lengths, optimizer):
    here = Lab(3, lengths, make_optimizer=optimizer)

    def average(models):
        here.step(models)
        mean_over_ranks(models)

    verdict = here.judge(average=average, step=lambda models: None)
    assert "the optimizer stepped before the averaging" in verdict.mistake


def test_the_optimizer_never_stepped():
    assert "no weight has moved" in Lab().judge(step=lambda models: None).mistake


def test_the_optimizer_stepped_twice():
    here = Lab()

    def step(models):
        here.step(models)
        here.step(models)

    assert "every weight moved 2 times as far" in here.judge(step=step).mistake


def test_one_rank_forgets_to_step():
    here = Lab()

    def step(models):
        for optimizer in here.optimizers[:2]:
            optimizer.step()

    assert "the weights after the step are not on rank 2" in here.judge(step=step).mistake
