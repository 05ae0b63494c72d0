"""Every drawing has room for its words and says the same in words; a lesson shows today's drawing.

The second fails where a drawing has changed: python tools/notebooks.py NN.
"""

import base64
import json
import zlib
from functools import cache, partial
from pathlib import Path

import pytest

from helpers import draw
from helpers.cluster import Layout, bars, estimate, memory_group, preset, time_group
from helpers.cost import gpt
from helpers.draw.drift import drift
from helpers.draw.experts import heat, routing
from helpers.draw.formats import Bits, bits
from helpers.draw.machines import machines
from helpers.draw.matrices import parallel_mlp, sequence_parallel_mlp
from helpers.draw.mesh import cut_weights
from helpers.draw.model import Sizes, layouts, llama
from helpers.draw.pipelines import kept, places, steps
from helpers.draw.stages import stages
from helpers.draw.states import zero_stages
from helpers.draw.themed import PICTURE, themed_file
from helpers.schedules import dualpipe_v, gpipe, one_f_one_b, waves, zb_h2
from helpers.simulate import Costs, simulate

NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"
FORMATS = [Bits("bf16", 8, 7, -133, -126, 128), Bits("MX", 4, 3, -9, -6, 8.8, 8, 32)]
COUNTS = {"before": [[0, 9], [1, 2]], "after": [[3, 3], [3, 3]]}
SPREAD = {
    "gradients, every step": draw.Point(300, [2.2, 2.4, 2.3], "gradients"),
    "weights, every step": draw.Point(300, [2.4, 2.5, 2.6], "weights"),
    "once": draw.Point(1.5, [3.3], "weights"),
}


def traces(*schedules):
    return {schedule.name: simulate(schedule).trace for schedule in schedules}


def bubbles():
    many = [1, 2, 4, 8, 16, 32]
    runs = {f"{p} stages": {m: simulate(gpipe(p, m)).bubble() for m in many} for p in (2, 4, 8)}
    title = "The bubble shrinks with the micro-batches and grows with the stages"
    return draw.curves(runs, title, x="micro-batches", y="bubble, as a share of the total", log="x")


def a_pair():
    costs = Costs(forward=0.5, input_grad=0.5, weight_grad=0.25, pair_share=0.6)
    return draw.timeline(simulate(dualpipe_v(4, 8), costs).trace)


def memory_and_time():
    now = {"flash": True, "overlap_tp": True, "overlap_dp": True, "recompute": "full"}
    layout = Layout(batch=512, dp=8, pp=8, tp=8, **now)
    done = estimate(gpt(hidden=12288, layers=96, heads=96), layout, preset("H100"))
    title = "Only two thirds of the step are matrix products"
    return bars([memory_group({"memory": done}), time_group({"time": done})], title)


IN_LESSONS = {
    "layouts": layouts,
    "llama": lambda: llama(Sizes()),
    "from one": lambda: draw.collectives(["broadcast", "scatter", "gather", "reduce"]),
    "all-to-all": lambda: draw.collectives(("all-to-all",)),
    "replicas": draw.replicas,
    "ring table": draw.ring_table,
    "ways": draw.ways,
    "local steps": drift,
    "stages": lambda: stages((2, 2, 2), "3 × 128 × 64"),
    "bubbles": bubbles,
    "what ranks keep": lambda: kept(
        traces(gpipe(4, 8), one_f_one_b(4, 8)),
        "Same work, same 33 s, and half the activations or less",
    ),
    "a grid": lambda: draw.process_grid(2, 3, 1),
    "bars": memory_and_time,
    "states": partial(zero_stages, 4),
    "an MLP": partial(parallel_mlp, 2),
    "an MLP of a cut sequence": partial(sequence_parallel_mlp, 2),
    "routing": partial(routing, 4),
    "weights on a mesh": cut_weights,
}
OTHERS = {  # and what each says
    "a pair": (a_pair, "DualPipeV: 4 ranks"),
    "one layer": (lambda: llama(Sizes(layers=1)), "1 blocks"),
    "126 layers": (lambda: llama(Sizes(layers=126)), "126 blocks"),
    "machines": (lambda: machines({"a": [[(0, 0), (0, 1)], [(1, 0), (1, 1)]]}), "a: "),
    "where stages lie": (lambda: places({"a line": range(4), "a V": [0, 1, 1, 0]}), "a V: rank 0"),
    "two steps": (
        lambda: steps(traces(waves(one_f_one_b(4, 8), 2), waves(zb_h2(4, 8), 2)), 8, "Two"),
        "ZB-H2, 2 waves: 51 s",
    ),
    "formats": (lambda: bits(FORMATS, "a title"), "bf16: 1 sign, 8 exponent"),
    "collectives": (draw.collectives, "broadcast: "),
    "ring": (draw.ring, "rank 0 holds 1"),
    "ring, later": (lambda: draw.ring(3, 4), "rank 0 holds 111 111 111"),
    "few ways": (lambda: draw.ways(3), "star: all send to rank 0"),
    "counts": (lambda: heat(COUNTS), "before: 0, 9; 1, 2. after: 3, 3; 3, 3."),
    "kept until W": (lambda: kept(traces(zb_h2(3, 6))), "5, 5 and 5"),
    "ends alone": (
        lambda: stages((0, 6, 0), "3 × 128 × 64"),
        "rank 0 holds the embedding; rank 1 holds layers 0, 1, 2, 3, 4 and 5",
    ),
    "two layers": (
        lambda: stages((1, 2, 0)),
        "rank 0 holds the embedding and layer 0; rank 1 holds layers 1 and 2",
    ),
    "points": (lambda: draw.points(SPREAD, "a title", x="MB"), "a title"),
    "points, logarithmic": (lambda: draw.points(SPREAD, "t", x="MB", log="xy"), "once"),
}
DRAWINGS = OTHERS | {name: (make, "") for name, make in IN_LESSONS.items()}


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_text_sticks_out_or_covers_another(name, check_layout):
    make, said = DRAWINGS[name]
    picture = make()
    check_layout(picture)
    assert picture.alt and said in picture.alt and picture.svg().startswith("<svg")


@cache
def shown():
    """The drawings in the committed notebooks, each as the text of an SVG for both themes.

    Each picture has one, in the colors of the page on which it stands."""
    drawings = set()
    for path in NOTEBOOKS.glob("*.ipynb"):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        data = [o.get("data", {}) for cell in cells for o in cell.get("outputs", ())]
        pictures = [each for each in data if "image/png" in each]
        assert all(PICTURE in each for each in pictures), path.name
        packed = (base64.b64decode(each[PICTURE]["svg"]) for each in pictures)
        drawings |= {zlib.decompress(each).decode() for each in packed}
    return drawings


@pytest.mark.parametrize("name", IN_LESSONS)
def test_a_lesson_shows_what_the_code_draws(name):
    same = themed_file(IN_LESSONS[name]()) in shown()
    assert same, "the lesson shows an older drawing: python tools/notebooks.py NN"
