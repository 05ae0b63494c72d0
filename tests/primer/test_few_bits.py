"""Rounding to few bits agrees with torch's types and products, and no error exceeds its bound."""

from dataclasses import replace

import pytest
import torch
from blocks import MX, ROW, SQUARE, quantize, restore
from formats import BF16, E2M1, E4M3, E5M2, FP16, FP32, rounded
from recipes import RECIPES, Product
from torch.nn.functional import ScalingType, scaled_mm

GENERATOR = torch.Generator().manual_seed(0)


def some(*shape, spread=4):
    size = torch.exp2(torch.randint(-spread, spread + 1, shape, generator=GENERATOR).float())
    return torch.randn(*shape, generator=GENERATOR) * size


@pytest.mark.parametrize("form", [BF16, FP16, E4M3, E5M2], ids=lambda form: form.name)
def test_rounding_by_arithmetic_is_torchs_cast_and_the_facts_are_torchs(form):
    x = some(4, 999, spread=20).clamp(-form.largest, form.largest)
    assert torch.equal(rounded(x, form), form.round(x))
    facts = torch.finfo(form.dtype)
    assert form.bits == facts.bits and form.largest == facts.max
    assert 2.0**-form.mantissa == facts.eps
    assert form.round(torch.tensor(3e38) * 1.2).isinf() == (form.bits == 16)
    four_bits = rounded(torch.linspace(-8, 8, 4001), E2M1).unique().tolist()
    assert four_bits == [-6, -4, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 6]


def spread(found):
    """The scales with a row for each row of the matrix."""
    return found.scales.repeat_interleave(found.block[0], 0)[: len(found.codes)]


@pytest.mark.parametrize("block", [ROW, SQUARE, MX])
@pytest.mark.parametrize("powers", [False, True])
def test_blocks_come_back_within_half_a_step_of_their_largest(block, powers):
    x = some(200, 300)
    found = quantize(x, block, powers=powers)
    off = (restore(found) - x).abs()
    scales = spread(found).repeat_interleave(block[1], 1)[:, :300]
    size = torch.maximum(x.abs() / 16, scales / 1024)
    assert (off <= size * 1.0001).all() and off.any()
    assert not powers or torch.equal(found.scales.log2(), found.scales.log2().round())


def witness(a, b):
    """The product by torch's own FP8 product: 128 columns at a time, scales by row."""
    total, by = torch.zeros(len(a.codes), len(b.codes)), ScalingType.RowWise
    for n in range(a.scales.shape[1]):
        part = slice(128 * n, 128 * (n + 1))
        left, right = a.codes[:, part].contiguous(), b.codes[:, part].contiguous()
        scales = spread(a)[:, n, None].contiguous(), spread(b)[:, n][None].contiguous()
        total += scaled_mm(left, right.T, scales[0], by, scales[1], by, output_dtype=torch.float32)
    return total


def test_a_layer_of_blocks_says_what_torchs_scaled_product_does_forward_and_backward():
    x, weight, gradient = some(128, 256), some(384, 256), some(128, 384)
    pairs = [
        (quantize(x, ROW), quantize(weight, SQUARE), x @ weight.T),
        (quantize(gradient, ROW), quantize(weight.T, SQUARE), gradient @ weight),
        (quantize(gradient.T, ROW), quantize(x.T, ROW), gradient.T @ x),
    ]
    x.requires_grad_(), weight.requires_grad_()
    recipe = replace(RECIPES["FP8, blocks of 128"].products(), results=FP32.round)
    y = Product.apply(x, weight, recipe)
    y.backward(gradient)
    for mine, (a, b, exact) in zip((y, x.grad, weight.grad), pairs, strict=True):
        other = witness(a, b)
        assert (mine - other).abs().max() < 1e-6 * other.abs().max()
        assert (mine - exact).norm() < 0.05 * exact.norm()
