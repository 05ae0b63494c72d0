"""Bars of estimates. Sliders without a browser: each control, and what cannot be."""

import pytest

from helpers.cluster import Layout, design, estimate, memory_bars, preset, time_bars
from helpers.cluster.settings import MODELS, START, made
from helpers.cost import gpt, parameters
from helpers.draw.style import CAUSES, HATCHED


def test_no_two_causes_of_an_estimate_look_alike():
    """What stands in one figure: memory by component above time by cause."""
    done = estimate(gpt(4096, 8, 32), Layout(16, dp=2, pp=2, tp=2), preset("A100"))
    names = [*done.memory.named(), *done.causes]
    assert set(names) <= set(CAUSES), "a part without a color of its own: add it to CAUSES"
    colors = [CAUSES[name] for name in names if name not in ("optimizer", "update")]
    assert len(set(colors)) == len(colors) and colors.count(HATCHED) == 1
    assert CAUSES["optimizer"] == CAUSES["update"]


def test_the_bars_of_estimates_say_their_parts(texts):
    done = estimate(gpt(4096, 8, 32), Layout(16, dp=2, pp=2, tp=2), preset("A100"))
    memory, time = memory_bars({"m": done}, "a title"), time_bars({"t": done})
    assert {"weights", "optimizer", "1", "2", "3", "a title"} <= set(texts(memory))
    assert any(text.startswith("A100: ") for text in texts(memory))
    assert {"matrix products", "bubble"} <= set(texts(time))
    assert "weights" in memory.alt and "matrix products" in time.alt


def test_the_batch_stays_where_replicas_change():
    sliders = design(dp=2, micro_batches=32)
    sliders.controls["dp"].value = 8
    assert sliders.settings["micro_batches"] == 8 and sliders.estimate.layout.batch == 64
    sliders.controls["micro_batch"].value = 4
    assert sliders.settings["micro_batches"] == 2 and sliders.estimate.layout.batch == 64
    sliders.controls["dp"].value = 64  # 64 can't be cut into 256 parts
    assert sliders.settings["micro_batches"] == 2 and sliders.estimate.layout.batch == 512


def test_every_control_changes_the_estimate():
    sliders = design(model="GPT-3, 175B", dp=4, pp=8, tp=8, micro_batches=32)
    first = sliders.page.value
    changes = {"model": "Llama 3 70B", "machine": "H100", "recompute": "full", "flash": True}
    changes |= {"dp": 8, "pp": 4, "tp": 4, "chunks": 2, "micro_batch": 2, "micro_batches": 64}
    changes |= {"zero": 1, "sequence_parallel": True}
    assert set(changes) == set(START)
    for name, value in changes.items():
        before = sliders.estimate
        sliders.controls[name].value = value
        assert sliders.problem == "" and sliders.estimate != before, name
    assert sliders.page.value != first
    assert sliders.settings == changes
    assert sliders.estimate == made(changes)


def test_what_cannot_be_is_said_and_the_picture_stays():
    sliders = design(pp=2, chunks=2)
    before = sliders.picture().alt
    sliders.controls["pp"].value = 1
    assert sliders.problem.startswith("2 chunks need a pipeline")
    assert "2 chunks need a pipeline" in sliders.page.value
    assert sliders.picture().alt == before
    sliders.controls["chunks"].value = 1
    assert sliders.problem == "" and "need a pipeline" not in sliders.page.value


def test_wrong_settings():
    with pytest.raises(TypeError, match=r"design\(\) has no setting 'gpus': choose from dp"):
        design(gpus=8)
    with pytest.raises(ValueError, match="there is no model 'GPT-5': choose one of GPT-2 XL"):
        design(model="GPT-5")
    with pytest.raises(ValueError, match="there is no machine 'V100'"):
        design(machine="V100")


def test_the_models_are_those_that_their_names_say():
    billions = {name: parameters(model).total / 1e9 for name, model in MODELS.items()}
    sizes = (1.56, 6.74, 8.03, 70.6, 175, 1008)
    assert list(billions.values()) == pytest.approx(sizes, rel=0.01)
