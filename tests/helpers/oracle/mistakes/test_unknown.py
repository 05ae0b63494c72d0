"""What is said where no known mistake explains the facts."""

import pytest
import torch

from ..simulated import Lab


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
