"""The script of tensor parallelism is one device: losses and weights compared, with SGD."""

import pytest
import torch

from helpers.parallel import LLAMA, join
from helpers.ranks import launch
from tests.scripts import alone, on_rank

pytestmark = pytest.mark.ranks

FLAGS = ["--dmodel", "24", "--heads", "6", "--layers", "2", "--seq-l", "16", "--steps", "4"]
SGD = ["--optimizer", "sgd", "--lr", "0.5"]
# Four steps of SGD in float32; only the order of additions differs.
TOLERANCE = 1e-6
BLOCKS = {name: way for name, way in LLAMA.items() if name.startswith("*.")}
SCRIPT = "TP/llama/intro_TP.py"


@pytest.fixture(scope="module")
def one_device():
    return alone([*FLAGS, *SGD])


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_it_is_one_device(one_device, ranks):
    found = launch(on_rank, ranks, (SCRIPT, [*FLAGS, *SGD]), quiet=True, timeout=400)
    for losses, _, trace in found:
        kinds = [event.kind for event in trace.events]
        assert losses == pytest.approx(one_device[0], abs=1e-5)
        assert {kind: kinds.count(kind) for kind in ("F", "B")} == {"F": 4, "B": 4}
    whole = join([weights for _, weights, _ in found], BLOCKS)
    assert set(whole) == set(one_device[1])
    for name, weight in one_device[1].items():
        assert (whole[name] - weight).abs().max() < TOLERANCE, name
    for name in ("model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"):
        assert all(torch.equal(weights[name], whole[name]) for _, weights, _ in found)
