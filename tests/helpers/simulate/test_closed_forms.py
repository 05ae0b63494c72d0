"""The simulator against what the papers derive and publish, wherever their forms hold."""

from dataclasses import replace

import pytest

from helpers.schedules import (
    breadth_first,
    eager,
    gpipe,
    interleaved,
    naive,
    one_f_one_b,
    zb_h1,
    zb_h2,
    zb_v,
)
from helpers.simulate import Costs, simulate
from helpers.simulate.published import ROWS, as_published, simulated_rate

SIZES = [(1, 1), (1, 5), (2, 1), (3, 2), (4, 2), (4, 8), (5, 12), (8, 8)]


COSTS = [Costs(), Costs(forward=2.5, input_grad=0.75, weight_grad=3.25)]


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("p, m", SIZES)
@pytest.mark.parametrize("build", [gpipe, one_f_one_b, eager])
def test_gpipe_and_1f1b(build, p, m, costs):
    each = costs.forward + costs.input_grad + costs.weight_grad
    done = simulate(build(p, m), costs)
    assert done.step_time == pytest.approx((m + p - 1) * each)
    assert done.bubble() == pytest.approx((p - 1) / (m + p - 1))
    assert done.bubble("ideal") == pytest.approx((p - 1) / m)
    assert done.messages == 2 * m * (p - 1)


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("p, m", [(2, 3), (4, 8), (4, 40), (8, 8)])
def test_eager_1f1b_hides_messages_for_which_1f1b_waits(p, m, costs):
    each = costs.forward + costs.input_grad + costs.weight_grad
    for share, hidden in ((0.5, True), (1, True), (1.01, False)):
        slow = replace(costs, latency=share * each / 2)
        step, plain = (simulate(b(p, m), slow).step_time for b in (eager, one_f_one_b))
        best = (m + p - 1) * each + 2 * (p - 1) * slow.latency
        assert (step <= best + 1e-9) == (hidden or p == 2), (share, step, best)
        assert simulate(gpipe(p, m), slow).step_time == pytest.approx(best) and plain > best + 0.1


@pytest.mark.parametrize("p, m", SIZES)
def test_naive_has_one_rank_at_work(p, m):
    done = simulate(naive(p, m))
    assert done.step_time == 3 * m * p
    assert done.bubble() == pytest.approx((p - 1) / p)


@pytest.mark.parametrize("build", [interleaved, breadth_first])
@pytest.mark.parametrize("p, m, v", [(2, 2, 2), (2, 6, 3), (4, 8, 2), (4, 8, 4), (3, 9, 5)])
def test_chunks_divide_the_bubble(build, p, m, v):
    done = simulate(build(p, m, v), Costs(1 / v, 1 / v, 1 / v))
    assert done.step_time == pytest.approx(3 * m + 3 * (p - 1) / v)
    assert done.bubble() == pytest.approx((p - 1) / (v * m + p - 1))
    assert done.messages == 2 * m * (p * v - 1)


@pytest.mark.parametrize("costs", [Costs(), Costs(2, 1.5, 1)])
@pytest.mark.parametrize("p, m", [(2, 2), (4, 4), (4, 8), (6, 13)])
def test_zb_h1(p, m, costs):
    f, i, w = costs.forward, costs.input_grad, costs.weight_grad
    done = simulate(zb_h1(p, m), costs)
    assert done.step_time == pytest.approx(m * (f + i + w) + (p - 1) * (f + i - w))
    if f == i == w:
        assert done.bubble() == pytest.approx((p - 1) / (3 * m + p - 1))


def test_the_bubble_of_zb_h1_is_larger_than_its_formula_where_w_takes_longer_than_f():
    assert simulate(zb_h1(2, 2), Costs(1, 0.5, 2)).span == 7.5 > 2 * 3.5 + (1 + 0.5 - 2)
    for p, m in [(2, 2), (4, 4), (4, 9)]:
        done = simulate(zb_h1(p, m), Costs(2, 0.5, 2))
        assert done.span == pytest.approx(m * 4.5 + (p - 1) * 0.5)


@pytest.mark.parametrize("p, m", [(2, 3), (4, 8), (6, 13)])
def test_zb_h2_has_no_bubble_between_a_ranks_first_and_last_action(p, m):
    done = simulate(zb_h2(p, m))
    assert done.span == 3 * m and done.bubble("span") == 0
    assert done.step_time == 3 * m + p - 1


@pytest.mark.parametrize("p, m", [(1, 1), (2, 4), (4, 7), (4, 8), (6, 13), (8, 24)])
def test_zb_v_has_none_either_with_half_the_memory(p, m):
    done = simulate(zb_v(p, m), Costs(0.5, 0.5, 0.5))
    assert done.span == 3 * m and done.bubble("span") == 0
    assert done.step_time == 3 * m + (p - 1) / 2
    assert done.messages == 2 * m * (2 * p - 2)


@pytest.mark.parametrize("name", ["1F1B", "ZB-H1", "ZB-H2"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.model}-{row.m}")
def test_the_clock_gives_the_published_rate(row, name):
    assert round(simulated_rate(row, name), 4) == row.rates[name]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.model}-{row.m}")
def test_both_readings_of_the_interleaved_column(row):
    published, honest = as_published(row), simulated_rate(row, "interleaved")
    assert round(published, 4) == row.rates["interleaved"]
    assert published < honest < published + 0.005
