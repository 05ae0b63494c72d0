"""Judge the cluster model by a paper's measured runs, none of which has set a constant.

    judged, factor = judged_recomputation()        arXiv 2205.05198, table 5
    python -m helpers.cluster.validate             runs bench/cluster_model, on all sources

The other sources, the fit of the constants and the generator of docs/cluster_model.md are in
bench/cluster_model.
"""

import runpy
import sys
from dataclasses import dataclass
from statistics import mean

from helpers.clone import ROOT, need_clone
from helpers.cluster.layer import layer_seconds
from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine
from helpers.cluster.parts import parts
from helpers.cluster.presets import A100
from helpers.cost import ModelConfig, gpt
from helpers.plain_errors import plain_errors


@dataclass(frozen=True)
class Measurement:
    """One measured iteration. name: what the source calls it. seconds: of one step."""

    name: str
    model: ModelConfig
    layout: Layout
    seconds: float

    def predicted(self, machine: Machine) -> float:
        """Return the seconds of the step by the closed form."""
        return parts(self.model, self.layout, machine).seconds(self.layout)

    def error(self, machine: Machine) -> float:
        """Return predicted over measured, minus 1."""
        return self.predicted(machine) / self.seconds - 1


@dataclass(frozen=True)
class Judged:
    """A row and its error."""

    row: Measurement
    error: float

    @property
    def predicted(self) -> float:
        """Seconds."""
        return self.row.seconds * (1 + self.error)


# Name, hidden, layers, heads, PP, batch, micro-batch, chunks, seconds with full recomputation, and
# with sequence parallelism and selective recomputation (arXiv 2205.05198, table 5).
_RECOMPUTE = (
    ("22B", 6144, 48, 64, 1, 4, 4, 1, 1.42, 1.10),
    ("175B", 12288, 96, 96, 8, 64, 1, 3, 18.13, 13.75),
    ("530B", 20480, 105, 128, 35, 280, 1, 3, 49.05, 37.83),
    ("1T", 25600, 128, 160, 64, 512, 1, 1, 94.42, 71.49),
)
NEWER = {"sequence_parallel": True, "recompute": "selective"}


def recomputation() -> list[Measurement]:
    """Return table 5 of arXiv 2205.05198: TP 8, no data parallelism."""
    rows = []
    for name, h, layers, a, p, batch, mb, v, full, selective in _RECOMPUTE:
        for how, seconds, options in (("full", full, {}), ("selective", selective, NEWER)):
            layout = Layout(batch, 2048, 1, p, 8, v, mb, overlap_tp=True, **options)
            rows.append(Measurement(f"{name}, {how}", gpt(h, layers, a), layout, seconds))
    return rows


# One layer of the 22B model: how, options, milliseconds forward and backward (table 4).
_LAYER = (
    ("nothing recomputed", {"recompute": "none"}, 7.7, 11.9),
    ("sequence parallel", {"recompute": "none", "sequence_parallel": True}, 7.2, 11.8),
    ("full recomputation", {}, 7.7, 19.5),
    ("selective", {"recompute": "selective"}, 7.7, 13.2),
    ("selective, sequence parallel", NEWER, 7.2, 13.1),
)


def layers() -> list[tuple[str, ModelConfig, Layout, float, float]]:
    """Return table 4 of arXiv 2205.05198: name, model, layout, seconds forward and backward."""
    model = gpt(6144, 48, 64)
    return [
        (name, model, Layout(4, tp=8, micro_batch=4, overlap_tp=True, **options), f / 1e3, b / 1e3)
        for name, options, f, b in _LAYER
    ]


def layer_factor(machine: Machine) -> float:
    """Return how much longer than predicted the single layers of table 4 took, on average."""
    ratios = []
    for _, model, layout, forward, backward in layers():
        predicted = sum(one.total for one in layer_seconds(model, layout, machine))
        ratios.append((forward + backward) / predicted)
    return mean(ratios)


def judged_recomputation() -> tuple[list[Judged], float]:
    """Judge table 5 by the fitted constants and the factor of table 4; return both."""
    factor = layer_factor(A100)
    machine = A100.slower(factor)
    return [Judged(row, row.error(machine)) for row in recomputation()], factor


if __name__ == "__main__":
    with plain_errors():
        need_clone()
    sys.path.insert(0, str(ROOT))  # bench/ is in the lab's folder and is not installed
    runpy.run_module("bench.cluster_model.validate", run_name="__main__")
