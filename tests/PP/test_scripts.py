"""What the scripts of replicas and of pipelines promise beside being one device (test_parity)."""

import gc

import clip_and_tie
import intro_PP_schedule as schedules
import pytest
import torch

from helpers.check.task import ROOT, load_module
from helpers.ranks import find_place, launch
from helpers.schedules import SCHEDULES, check, interleaved, one_f_one_b, save_csv
from tests.scripts import alone, be_silent, on_rank

pytestmark = pytest.mark.ranks

SIZES = "--dmodel 12 --heads 2 --layers 4 --seq-l 16".split()
ONE_F_ONE_B, WEIGHTS = "PP/1F1B/intro_PP_1F1B.py", "DP/weight_aggr/intro_DP_WA.py"


def test_the_mean_of_adams_steps_is_not_adams_step_of_the_mean():
    flags = [*SIZES, "--steps", "4", "--optimizer", "adam", "--lr", "0.01"]
    right = alone([*flags, "--batch-size", "3", "--like-ranks", "3"])[1]
    for _, weights, _ in launch(on_rank, 3, (WEIGHTS, flags), quiet=True):
        assert max((weights[name] - right[name]).abs().max() for name in right) > 1e-3


def most_held(micro_batches):
    """On a rank: how many tensors of a message's shape 1F1B holds at once, at most."""
    script, most = load_module(ROOT / ONE_F_ONE_B, "the_script"), []
    size = str(micro_batches)
    flags = [*SIZES, "--steps", "1", "--batch-size", size, "--micro-batches", size]
    options, prepare = script.read_flags(flags), script.prepare
    shape = (1, options.seq_l, options.dmodel)

    def count(*_):
        found = [t for t in gc.get_objects() if type(t) is torch.Tensor and t.shape == shape]
        most.append(len({t.data_ptr() for t in found}))

    def watched(*arguments):
        tokenizer, stage = prepare(*arguments)
        stage.register_forward_hook(count)
        return tokenizer, stage

    script.prepare = watched
    script.train(options, find_place(), "cpu", be_silent)
    return max(most)


def test_1f1b_lets_go_of_what_it_has_sent():
    found = launch(lambda: (most_held(4), most_held(12)), ranks=3, quiet=True, timeout=400)
    # The first call may leave one behind; eight more micro-batches would be eight more or sixteen.
    assert all(many < few + 4 for few, many in found), found


@pytest.mark.slow
def test_only_the_right_way_to_clip_and_tie_ends_where_one_device_does():
    found = clip_and_tie.run()
    assert list(found) == ["right", *clip_and_tie.WRONG]
    assert found.pop("right") < 1e-13 and min(found.values()) > 1e-4


def test_the_orders_of_the_file_are_proven():
    orders = schedules.orders
    for size in ((2, 4, 2), (4, 8, 3), (3, 3, 1)):
        assert schedules.to_schedule(orders.interleaved(*size)).ranks == interleaved(*size).ranks
    for case in ((4, 8, 2), (2, 3, 1), (1, 2, 1), (3, 1, 2)):
        check(schedules.to_schedule(orders.within_memory(*case)))


def test_a_plan_comes_from_its_name_or_from_a_file(tmp_path):
    for name in SCHEDULES:
        assert schedules.make_schedule(name, 2, 4, 3) == SCHEDULES[name].made(2, 4, 3)
    plan = one_f_one_b(2, 3)
    save_csv(plan, tmp_path / "plan.csv")
    (tmp_path / "plan.txt").write_text(str(plan), encoding="utf-8")
    for name in ("plan.csv", "plan.txt"):
        assert schedules.make_schedule(str(tmp_path / name), 2, 3, 1).ranks == plan.ranks
    with pytest.raises(ValueError, match="^a schedule of 0 micro-batches.*$"):
        schedules.make_schedule("ZB-V", 3, 0, 2)
