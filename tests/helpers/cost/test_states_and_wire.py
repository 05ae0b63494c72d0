"""ZeRO's table to its last digit, and bytes against a ring that really runs."""

from decimal import ROUND_HALF_UP, Decimal

import pytest

from helpers.cost import (
    all_gather_bytes,
    all_reduce_bytes,
    bytes_on_the_wire,
    context_parallel_bytes,
    gpt,
    parameters,
    states,
)

# arXiv 1910.02054, table 1: GB a device, 7.5B parameters, N = 1, 4, 16, 64, 256, 1024
PUBLISHED = {
    1: "120 52.5 35.6 31.4 30.4 30.1",
    2: "120 41.3 21.6 16.6 15.4 15.1",
    3: "120 30 7.5 1.88 .47 .12",
}


@pytest.mark.parametrize("zero", PUBLISHED)
def test_zeros_table(zero):
    for n, text in zip((1, 4, 16, 64, 256, 1024), PUBLISHED[zero].split(), strict=True):
        digits = len(text.partition(".")[2])
        exact = Decimal(states(7.5e9, zero=zero, ranks=n).total) / Decimal(10**9)
        rounded = exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
        assert rounded == Decimal(text), (zero, n)


def test_zeros_formulas_and_what_is_cut_first():
    p, n = 1e9, 64
    assert states(p).total == 16 * p and states(p).convention.endswith("bytes a parameter")
    assert states(p, zero=1, ranks=n).total == 4 * p + 12 * p / n
    assert states(p, zero=2, ranks=n).total == 2 * p + 14 * p / n
    assert states(p, zero=3, ranks=n).total == 16 * p / n
    first = states(p, zero=1, ranks=n)
    assert (first.weights, first.gradients, first.optimizer) == (2 * p, 2 * p, 12 * p / n)
    assert states(p, "mixed, fp32 gradients").total == 18 * p
    assert states(p, "fp32").total == 16 * p and states(p, "fp32 SGD").total == 8 * p
    assert "ZeRO stage 1 over 64 ranks" in first.convention


def test_wrong_input():
    with pytest.raises(ValueError, match="precision='fp8': choose one of mixed"):
        states(1e9, "fp8")
    with pytest.raises(ValueError, match=r"zero=4: the stages are 0 \(off\), 1, 2 and 3"):
        states(1e9, zero=4)
    with pytest.raises(ValueError, match="1000 parameters on 0 ranks"):
        states(1000, ranks=0)


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_a_ring_sends_so_many_bytes(ranks):
    """A ring played through: in each of 2(n-1) rounds every rank sends one n-th on."""
    held = [[{rank} for _ in range(ranks)] for rank in range(ranks)]
    sent = 0
    for round_ in range(2 * (ranks - 1)):
        gather = round_ >= ranks - 1
        moves = [(r, (r - round_) % ranks) for r in range(ranks)]
        pieces = [set(held[r][piece]) for r, piece in moves]
        for (r, piece), what in zip(moves, pieces, strict=True):
            held[(r + 1) % ranks][piece] = what if gather else held[(r + 1) % ranks][piece] | what
        sent += 1
    assert all(len(piece) == ranks for row in held for piece in row)
    assert all_reduce_bytes(1200, ranks) == pytest.approx(1200 / ranks * sent)
    assert all_gather_bytes(1200, ranks) == pytest.approx(600 / ranks * sent)


def test_all_of_a_step():
    model = gpt(1024, 8, 16)
    weights, values = parameters(model).total / 8, 2 * 2 * 512 * 1024

    def sent(**how):
        sizes = {"micro_batch": 2, "micro_batches": 6, "sequence": 512}
        return bytes_on_the_wire(model, weights, **sizes | how)

    found = sent(dp=4, tp=2, pp=4, chunks=2)
    assert found.data == all_reduce_bytes(2 * weights, 4)
    assert found.tensor == 6 * 2 * 4 * all_reduce_bytes(values, 2)  # four of each layer
    assert found.pipeline == 6 * 2 * 2 * values / 2  # there and back, half on each rank
    assert found.total == found.data + found.tensor + found.pipeline
    assert sent().total == 0
    once = all_gather_bytes(2 * weights, 4)  # FSDP: two gathers and a reduce-scatter each time
    for zero, passes in ((0, 2), (1, 2), (2, 6 + 1), (3, 6 * 3)):
        assert sent(dp=4, zero=zero).data == pytest.approx(passes * once)
    again = sent(tp=2, cp=4, recompute="full")
    assert again.tensor == 6 * 8 * 6 * all_reduce_bytes(values / 4, 2)
    ahead, back = context_parallel_bytes(model, 2, 512, 4, tp=2)
    assert again.context == 6 * 8 * (2 * ahead + back)
    assert again.data == all_reduce_bytes(2 * weights, 4)
