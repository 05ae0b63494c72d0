"""The layout that a student's search chooses."""

from helpers.check.task import ROOT, load_module
from helpers.cluster import estimate, preset, search
from helpers.cost import gpt


def test_a_layout_is_as_fast_as_the_best_that_a_search_finds():
    choose_layout = load_module(ROOT / "TP/choose_layout.py", "choose_layout").choose_layout
    model, machine = gpt(8192, 48, 64), preset("A100")
    best = next(e for e in search(model, machine, 64, 128) if e.layout.chunks == 1)
    done = estimate(model, choose_layout(model, machine, 64, 128), machine, gpus=64)
    assert done.fits and done.seconds <= 1.001 * best.seconds
    assert choose_layout(gpt(12288, 96, 96), machine, 8, 8) is None
