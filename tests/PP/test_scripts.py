"""What the scripts of replicas and of pipelines promise beside being one device (test_parity)."""

import gc

import pytest
import torch

from helpers.check.task import ROOT, load_module
from helpers.ranks import find_place, launch
from tests.scripts import alone, be_silent, on_rank

pytestmark = pytest.mark.ranks

SIZES = ["--dmodel", "12", "--heads", "2", "--layers", "4", "--seq-l", "16"]
FLAGS = [*SIZES, "--steps", "2", "--optimizer", "sgd", "--lr", "0.5"]
ONE_F_ONE_B, WEIGHTS = "PP/1F1B/intro_PP_1F1B.py", "DP/weight_aggr/intro_DP_WA.py"


def test_the_mean_of_adams_steps_is_not_adams_step_of_the_mean():
    flags = [*SIZES, "--steps", "4", "--optimizer", "adam", "--lr", "0.01"]
    right = alone([*flags, "--batch-size", "3", "--like-ranks", "3"])[1]
    for _, weights, _ in launch(on_rank, 3, (WEIGHTS, flags), quiet=True):
        assert max((weights[name] - right[name]).abs().max() for name in right) > 1e-3


def test_1f1b_lets_go_of_what_it_has_sent():
    """However many micro-batches there are, few tensors of a message's shape are held at once."""

    def most_held(micro_batches):
        script, most = load_module(ROOT / ONE_F_ONE_B, "the_script"), []
        flags = ["--steps", "1", "--batch-size", str(micro_batches)]
        options = script.read_flags([*FLAGS, *flags, "--micro-batches", str(micro_batches)])
        shape = (1, options.seq_l, options.dmodel)

        def count(*_):
            found = [t for t in gc.get_objects() if type(t) is torch.Tensor and t.shape == shape]
            most.append(len({t.data_ptr() for t in found}))

        prepare = script.prepare

        def watched(*arguments):
            tokenizer, stage = prepare(*arguments)
            stage.register_forward_hook(count)
            return tokenizer, stage

        script.prepare = watched
        script.train(options, find_place(), "cpu", be_silent)
        return max(most)

    found = launch(lambda: (most_held(4), most_held(12)), ranks=3, quiet=True, timeout=400)
    # The first call may leave one behind; eight more micro-batches would be eight more or sixteen.
    assert all(many < few + 4 for few, many in found), found
