"""1F1B frees what it has sent, a wrong clip or tie is seen, a plan is a name or a file."""

import gc

import clip_and_tie
import intro_PP_schedule as schedules
import pytest
import torch

from helpers.check.task import ROOT, load_module
from helpers.ranks import find_place, launch
from helpers.schedules import check, interleaved, one_f_one_b, save_csv
from tests.scripts import be_silent

pytestmark = pytest.mark.ranks

SIZES = "--dmodel 12 --heads 2 --layers 4 --seq-l 16 --steps 1".split()


def most_held(micro_batches):
    """On a rank: how many tensors of a message's shape 1F1B holds at once, at most."""
    script, most = load_module(ROOT / "PP/1F1B/intro_PP_1F1B.py", "the_script"), []
    size = str(micro_batches)
    options = script.read_flags([*SIZES, "--batch-size", size, "--micro-batches", size])
    shape, prepare = (1, options.seq_l, options.dmodel), script.prepare

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


def test_a_plan_comes_from_its_name_or_from_a_file(tmp_path):
    assert schedules.make_schedule("breadth-first", 2, 4, 3).stages == 6
    assert schedules.make_schedule("interleaved", 4, 8, 3).ranks == interleaved(4, 8, 3).ranks
    for ranks, micro_batches in ((4, 8), (2, 3), (1, 2), (3, 1)):
        check(schedules.make_schedule("mine", ranks, micro_batches, 1))
    plan = one_f_one_b(2, 3)
    save_csv(plan, tmp_path / "plan.csv")
    (tmp_path / "plan.txt").write_text(str(plan), encoding="utf-8")
    for name in ("plan.csv", "plan.txt"):
        assert schedules.make_schedule(str(tmp_path / name), 2, 3, 1).ranks == plan.ranks
    with pytest.raises(ValueError, match="^a schedule of 0 micro-batches"):
        schedules.make_schedule("ZB-V", 3, 0, 2)
