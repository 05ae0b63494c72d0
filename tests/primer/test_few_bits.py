"""Few bits: torch's own types and products agree, and no error is larger than its bound."""

import pytest
import torch
import train
from blocks import MX, ROW, SQUARE, quantize, restore
from formats import BF16, E2M1, E4M3, E5M2, FP16, FP32, rounded
from linear import Linear8, product
from recipes import RECIPES, Delayed, Trainer, blocks, tensor

from simplellm.llama import CausalLLama, LLama

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
    assert form.smallest_normal == facts.smallest_normal and 2.0**-form.mantissa == facts.eps
    assert form.smallest == float(torch.tensor(form.smallest).to(form.dtype)) > 0
    assert form.round(torch.tensor(0.49 * form.smallest)) == 0
    assert form.round(torch.tensor(3e38) * 1.2).isinf() == (form.bits == 16)


def test_four_bits_have_fifteen_numbers():
    found = rounded(torch.linspace(-8, 8, 4001), E2M1).unique().tolist()
    assert found == [-6, -4, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 6]


@pytest.mark.parametrize("form", [BF16, FP16, E4M3, E5M2, E2M1], ids=lambda form: form.name)
def test_what_rounding_changes_on_average(form):
    x = torch.exp2(torch.rand(400_000, generator=GENERATOR) * 1.0)  # one power of two, evenly
    off = (form.round(x) / x - 1).square().mean().sqrt().item()
    assert off == pytest.approx(form.rounding, rel=0.03)


@pytest.mark.parametrize("block", [ROW, SQUARE, MX])
def test_blocks_come_back_within_half_a_step_of_their_largest(block):
    x = some(200, 300)
    for powers in (False, True):
        found = quantize(x, block, powers=powers)
        off = (restore(found) - x).abs()
        scales = found.spread().repeat_interleave(block[1], 1)[:, :300]
        size = torch.maximum(x.abs() / 16, scales / 1024)
        assert (off <= size * 1.0001).all() and off.any()
    if hasattr(torch, "float8_e8m0fnu"):  # eight bits of exponent hold the scales
        assert torch.equal(found.scales.to(torch.float8_e8m0fnu).float(), found.scales)


def witness(a, b):
    """The product by torch's own FP8 product: 128 columns at a time, scales by row."""
    from torch.nn.functional import ScalingType, scaled_mm

    total = torch.zeros(len(a.codes), len(b.codes))
    for n in range(a.scales.shape[1]):
        part = slice(128 * n, 128 * (n + 1))
        left, right = a.codes[:, part].contiguous(), b.codes[:, part].contiguous()
        total += scaled_mm(
            left,
            right.T,
            a.spread()[:, n, None].contiguous(),
            ScalingType.RowWise,
            b.spread()[:, n][None].contiguous(),
            ScalingType.RowWise,
            output_dtype=torch.float32,
        )
    return total


def test_torchs_scaled_product_says_the_same_and_the_error_is_within_its_bound():
    x, weight, gradient = some(128, 256), some(384, 256), some(128, 384)
    pairs = [
        (quantize(x, ROW), quantize(weight, SQUARE), x, weight),
        (quantize(gradient, ROW), quantize(weight.T, SQUARE), gradient, weight.T),
        (quantize(gradient.T, ROW), quantize(x.T, ROW), gradient.T, x.T),
    ]
    for a, b, left, right in pairs:
        found = product(a, b)
        other = witness(a, b)
        assert (found - other).abs().max() < 1e-6 * other.abs().max()
        off = (found.double() - left.double() @ right.double().T).abs()
        # Each factor is off by 1/16 of itself, or by half a step below the normal numbers.
        half = [
            m.abs().double() / 16 + 2.0**-10 * q.spread().repeat_interleave(128, 1)[:, : m.shape[1]]
            for m, q in ((left, a), (right, b))
        ]
        bound = half[0] @ right.abs().double().T + left.abs().double() @ half[1].T
        assert (off <= 1.1 * (bound + half[0] @ half[1].T) + 1e-6).all()
    x.requires_grad_(), weight.requires_grad_()
    y = Linear8.apply(x, weight)
    y.backward(gradient)
    for mine, pair in zip((y, x.grad, weight.grad), pairs, strict=True):
        assert torch.equal(mine, product(*pair[:2]))


def test_a_delayed_scale_is_that_of_the_largest_before():
    cast = Delayed(E4M3, history=2)
    for largest, cut in ((1.0, 1.0), (8.0, 1.0), (3.0, 3.0), (9.0, 8.0), (9.0, 9.0)):
        assert cast(torch.tensor([largest, 0.5])).max().item() == pytest.approx(cut, rel=0.07)
    assert Delayed(E4M3)(torch.zeros(3)).tolist() == [0, 0, 0]


def test_an_outlier_breaks_one_scale_and_not_blocks():
    x = torch.randn(128, 256, generator=GENERATOR)
    x[3, 200] = 1e7
    rest = x.abs() < 1e3

    def off(cast):
        return ((cast(x) - x)[rest].norm() / x[rest].norm()).item()

    assert off(tensor(E4M3)) == 1.0  # all others became 0
    assert off(blocks(ROW)) < 0.08 and off(blocks(MX, powers=True)) < 0.05


def model():
    sizes = {"dmodel": 16, "num_heads": 2, "n_layers": 2, "ctx_size": 8, "device": "cpu"}
    torch.manual_seed(0)
    return LLama(CausalLLama, 40, **sizes)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_trains_as_float32_does_up_to_its_rounding(name):
    """The share of a batch changes nothing in float32, and no layer is left out."""
    ids, ends = torch.randint(40, (2, 8), generator=GENERATOR), []
    for recipe, share in ((RECIPES["fp32"], 1), (RECIPES[name], 64)):
        net = model()
        trainer = Trainer(net, torch.optim.SGD(net.parameters(), lr=0.1), recipe, share)
        before = torch.cat([p.detach().clone().flatten() for p in net.parameters()])
        trainer.step(torch.nn.functional.cross_entropy(net(ids)[:, :-1].mT, ids[:, 1:]))
        ends.append(torch.cat([p.detach().flatten() for p in net.parameters()]) - before)
    away = ((ends[1] - ends[0]).norm() / ends[0].norm()).item()
    if name == "fp32":
        assert away < 1e-5
    elif "no scales" in name or "too" in name:
        assert away > 0.01
    else:
        assert 0 < away < 0.3


def test_every_recipe_is_recorded_for_every_seed():
    assert list(train.recorded()) == list(RECIPES)
    assert all(len(ends) == train.SEEDS for ends in train.recorded().values())
    assert FP32.bits == 32 and RECIPES["MXFP8"].bits == 8.25
