"""The search against all layouts one by one."""

from dataclasses import replace
from functools import cache

import pytest

from helpers.cluster import estimate, layouts, preset, search
from helpers.cost import MoE, gpt
from helpers.simulate import OutOfMemory

A100 = preset("A100")
MODEL = gpt(4096, 12, 32)


@cache
def found():
    return search(MODEL, A100, 32, 64)


def test_every_layout_goes_and_each_comes_once():
    found = list(layouts(MODEL, A100, 32, 64))
    assert len(found) == len(set(found)) > 200
    for layout in found:
        assert layout.for_model(MODEL, 32) is layout and layout.batch == 64
        assert layout.tp <= 8
        assert layout.chunks == 1 or layout.micro_batches % layout.pp == 0


def test_nothing_that_goes_is_left_out():
    """A loop that tries everything up to 32, with one recomputation and no ZeRO."""
    found = {
        (o.dp, o.pp, o.tp, o.micro_batch)
        for o in layouts(MODEL, A100, 32, 64, recompute="full", zero=0)
    }
    expected = set()
    for dp, pp, tp, micro in (
        (d, p, t, b)
        for d in range(1, 33)
        for p in range(1, 33)
        for t in (1, 2, 4, 8)
        for b in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
    ):
        if dp * pp * tp == 32 and 12 % pp == 0 and 64 % (dp * micro) == 0:
            expected.add((dp, pp, tp, micro))
    assert found == expected


def test_the_fastest_that_fits_comes_first():
    tried = [estimate(MODEL, layout, A100) for layout in layouts(MODEL, A100, 32, 64)]
    times = [e.seconds for e in found()]
    assert times == sorted(e.seconds for e in tried if e.fits) and all(e.fits for e in found())


def test_the_best_can_be_put_on_the_clock():
    options = {"recompute": "none", "zero": 1}
    plain, best = (search(MODEL, A100, 32, 64, simulated=n, **options) for n in (0, 10))
    assert {e.layout for e in best[:10]} == {e.layout for e in plain[:10]}
    times = [e.simulated.step_time for e in best[:10]]
    assert times == sorted(times)


def test_fields_that_all_of_them_have():
    one = list(layouts(MODEL, A100, 32, 64, zero=3, cp=2, recompute="op", flash=True))
    assert len(one) == len(set(one)) > 20
    assert {(o.zero, o.cp, o.recompute, o.flash, o.gpus) for o in one} == {(3, 2, "op", True, 32)}
    mixed = replace(MODEL, family="llama", moe=MoE(8, 2, 4096))
    assert {o.ep for o in layouts(mixed, A100, 32, 64, ep=4)} == {4}


def test_nothing_goes_or_nothing_fits():
    with pytest.raises(ValueError, match="a batch of 7 on 4096 devices: no layout cuts 12 layers"):
        search(MODEL, A100, 4096, 7)
    with pytest.raises(OutOfMemory, match="the A100 has 80 GB"):
        search(gpt(12288, 96, 96), A100, 8, 8)
    with pytest.raises(ValueError, match=r"search\(gpus=0\): give a whole number"):
        search(MODEL, A100, 0, 8)
