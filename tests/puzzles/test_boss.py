"""Part 5: no plain strategy fits, others score in this order, and what `measured` charges."""

import inspect

import part0
import part1
import part3
import part5
import pytest
from cluster import Dist, PuzzleError, outcome, run
from cluster.ranks import OutOfMemory

from helpers.cluster import Layout, estimate
from helpers.cost import gpt

pytestmark = pytest.mark.slow

CASE = (48, 60, 48, 1)  # a quarter of the boss's batch


def changed(*changes):
    """The solution with pieces of its text replaced."""
    text = inspect.getsource(part5.part5_training_loop)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    found = dict(vars(part5))
    exec(text, found)
    return found["part5_training_loop"]


@pytest.mark.parametrize(
    "step", [part0.train_ddp, part1.part1_training_loop, part3.part3_training_loop]
)
def test_no_plain_strategy_fits(step):
    with pytest.raises(OutOfMemory, match=r"and the card has 80\.0 GB"):
        outcome(run(step, *CASE, profile="measured"))


KEPT = "25 // ((warm_up + 1) * batch_size)"
EVERYWHERE = [("node = NODE", "node = model.world_size"), (KEPT, "6")]


@pytest.mark.parametrize(
    ("changes", "sequences", "gigabytes", "percent"),
    [
        (EVERYWHERE, 1, 63.8, 19.3),
        (EVERYWHERE, 2, 76.7, 38.3),
        ([(KEPT, "1")], 1, 65.0, 51.0),
        ([], 1, 74.5, 55.4),
    ],
)
def test_the_solutions_of_lesson_18_and_of_the_readme(changes, sequences, gigabytes, percent):
    found = outcome(run(changed(*changes), 48, 60, 192, sequences, profile="measured"))
    assert found.memory / 1e9 == pytest.approx(gigabytes, abs=0.06)
    assert found.points[0] == 100 * found.mfu == pytest.approx(percent, abs=0.06)


def test_a_pipeline_takes_what_the_cluster_model_says():
    """1F1B of six nodes with one rank each at work: part 3, and the closed form."""
    profile = Dist(1, "measured").profile
    model = gpt(12288, 6, 96, vocabulary=8)  # its embedding and its loss take hardly anything
    layout = Layout(24, pp=6, recompute="none", flash=True)
    expected = estimate(model, layout, profile.card)
    found = outcome(run(part3.part3_training_loop, 6, 6, 24, 1, profile="measured"))
    assert found.time == pytest.approx(expected.seconds, rel=0.03)
    assert found.mfu == pytest.approx(expected.utilisation.mfu, rel=0.03)


def test_an_activation_must_be_computed_again():
    """A forged one in place of the second forward, and a weight that nobody has gathered."""
    out = "out = model.forward(layer, activations[layer, number], weight)"
    forged = changed(
        (out, "from lib import Activation\n"
              "        x, of = activations[layer, number], batches[number]\n"
              "        out = model.forward(layer, x, weight)\n"
              "        if op == 'again':\n"
              "            out = Activation(layer + 1, model.num_layers, of, 48)\n"
              "        del x"),
    )  # fmt: skip
    with pytest.raises(PuzzleError, match="was built by hand"):
        run(forged, *CASE, profile="measured")
    shard = changed(("weight = await gathering", "weight = (await gathering, parts[layer][0])[1]"))
    with pytest.raises(PuzzleError, match="gather it first"):
        run(shard, *CASE, profile="measured")
