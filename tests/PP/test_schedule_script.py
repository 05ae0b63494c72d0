"""Any schedule by the script that runs them: one device's losses and weights, with SGD."""

import importlib.util
import sys
from pathlib import Path

import pytest

from helpers.ranks import find_place, launch
from helpers.schedules import SCHEDULES, check, from_trace, interleaved, one_f_one_b, save_csv
from simplellm.slicing import whole_name

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "PP/schedules"
SIZES = ["--dmodel", "12", "--heads", "2", "--layers", "6", "--seq-l", "16", "--steps", "3"]
FLAGS = [*SIZES, "--optimizer", "sgd", "--lr", "0.5"]
TOLERANCE = 1e-6  # three steps of SGD in float32; only the order of adding differs
CASES = {
    "interleaved": ["--schedule", "interleaved"],
    "interleaved, 3 chunks": ["--schedule", "interleaved", "--chunks", "3"],
    "mine": ["--schedule", "mine"],
    "breadth-first": ["--schedule", "breadth-first"],
    "ZB-V": ["--schedule", "ZB-V"],
    "searched": ["--schedule", "searched"],
}


def load(path):
    sys.path.insert(0, str((ROOT / path).parent))
    try:
        spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def train():
    """On each of two ranks, all cases: losses, weights by their names in the whole model, trace."""
    answers = {}
    for name, more in CASES.items():
        script = load("PP/schedules/intro_PP_schedule.py")
        options = script.read_flags([*FLAGS, *more])
        losses, stages, trace = script.train(options, find_place(), "cpu", lambda step, loss: None)
        weights = {
            whole_name(key, getattr(stage, "first_layer", 0)): weight
            for stage in stages.values()
            for key, weight in stage.state_dict().items()
        }
        answers[name] = losses, weights, trace
    return answers


@pytest.fixture(scope="module")
def answers():
    return launch(train, ranks=2, quiet=True, timeout=400)


@pytest.fixture(scope="module")
def one_device():
    intro = load("primer/intro.py")
    flags = [*FLAGS, "--batch-size", "6", "--device", "cpu"]
    losses, net, _ = intro.train(intro.read_flags(flags), lambda step, loss: None)
    return losses, net.state_dict()


@pytest.mark.parametrize("name", CASES)
def test_a_schedule_is_one_device(name, answers, one_device):
    losses, expected = one_device
    held, found = {}, []
    for rank in answers:
        assert not set(rank[name][1]) & set(held), "two ranks hold the same weight"
        held |= rank[name][1]
        found += rank[name][0]
    assert found == pytest.approx(losses, abs=1e-5) and set(held) == set(expected)
    for key, weight in held.items():
        assert (weight - expected[key]).abs().max().item() < TOLERANCE, key


def test_the_trace_is_that_of_the_order(answers):
    trace = answers[0]["interleaved"][2].merged(answers[1]["interleaved"][2])
    for row, right in zip(from_trace(trace).ranks, interleaved(2, 6).ranks, strict=True):
        assert row == 3 * right  # three steps


def test_the_orders_of_the_file_are_proven():
    orders, script = load("PP/schedules/orders.py"), load("PP/schedules/intro_PP_schedule.py")
    for size in ((2, 4, 2), (4, 8, 3), (3, 3, 1)):
        assert script.to_schedule(orders.interleaved(*size)).ranks == interleaved(*size).ranks
    for case in ((4, 8, 2), (2, 3, 1), (1, 2, 1), (3, 1, 2)):
        check(script.to_schedule(orders.within_memory(*case)))


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule_with_a_name_is_one_for_the_script(name):
    script = load("PP/schedules/intro_PP_schedule.py")
    assert script.make_schedule(name, 2, 4, 3) == SCHEDULES[name].made(2, 4, 3)


def test_a_plan_comes_from_a_file(tmp_path):
    script = load("PP/schedules/intro_PP_schedule.py")
    plan = one_f_one_b(2, 3)
    save_csv(plan, tmp_path / "plan.csv")
    (tmp_path / "plan.txt").write_text(str(plan), encoding="utf-8")
    for name in ("plan.csv", "plan.txt"):
        assert script.make_schedule(str(tmp_path / name), 2, 3, 1).ranks == plan.ranks


@pytest.mark.parametrize(
    "name, ranks, m, words",
    [
        ("nope", 3, 6, "--schedule nope: there is no such file; the names are naive, GPipe, 1F1B"),
        ("interleaved", 3, 4, "takes rounds of 3 micro-batches, and there are 4: choose"),
        ("ZB-V", 3, 0, "a schedule of 0 micro-batches"),
    ],
)
def test_wrong_input_is_one_sentence(name, ranks, m, words):
    script = load("PP/schedules/intro_PP_schedule.py")
    with pytest.raises(ValueError) as caught:
        script.make_schedule(name, ranks, m, 2)
    assert words in str(caught.value) and "\n" not in str(caught.value)
