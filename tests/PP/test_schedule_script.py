"""What the script of schedules takes: proven orders, names, files; test_scripts.py trains it."""

import intro_PP_schedule as script
import pytest

from helpers.schedules import SCHEDULES, check, interleaved, one_f_one_b, save_csv

pytestmark = pytest.mark.ranks


def test_the_orders_of_the_file_are_proven():
    orders = script.orders
    for size in ((2, 4, 2), (4, 8, 3), (3, 3, 1)):
        assert script.to_schedule(orders.interleaved(*size)).ranks == interleaved(*size).ranks
    for case in ((4, 8, 2), (2, 3, 1), (1, 2, 1), (3, 1, 2)):
        check(script.to_schedule(orders.within_memory(*case)))


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule_with_a_name_is_one_for_the_script(name):
    assert script.make_schedule(name, 2, 4, 3) == SCHEDULES[name].made(2, 4, 3)


def test_a_plan_comes_from_a_file(tmp_path):
    plan = one_f_one_b(2, 3)
    save_csv(plan, tmp_path / "plan.csv")
    (tmp_path / "plan.txt").write_text(str(plan), encoding="utf-8")
    for name in ("plan.csv", "plan.txt"):
        assert script.make_schedule(str(tmp_path / name), 2, 3, 1).ranks == plan.ranks


def test_no_micro_batch_is_no_schedule():
    with pytest.raises(ValueError, match="^a schedule of 0 micro-batches.*$"):
        script.make_schedule("ZB-V", 3, 0, 2)
