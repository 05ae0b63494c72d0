"""Judge the cluster model by published iterations, row by row.

    python -m helpers.cluster.validate                every published row, and what comes of it
    python -m helpers.cluster.validate rows.csv       the errors of your own rows

A row of a file: batch, micro-batch, hidden, heads, layers, sequence, tensor, data and pipeline
parallel, milliseconds; on A100s with half the network cards, 1F1B and full recomputation. The
published rows are in bench/cluster_model; no row is judged by a constant that it has set.
"""

import argparse
import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from helpers.clone import ROOT
from helpers.cluster import estimate
from helpers.cluster.layer import layer_seconds
from helpers.cluster.layout import Layout
from helpers.cluster.machine import A100, A100_HALF, H100, PRESETS, Machine
from helpers.cost import MODELS, ModelConfig, MoE, flops, gpt, read_config
from helpers.files import read_whole

ROWS = Path(__file__).parent
NEWER, OLDER = "arXiv 2205.05198, table 5", "arXiv 2104.04473, table 1"
LAYERS = "arXiv 2205.05198, table 4"
SET_ON = ("1.7B", "7.5B", "39.1B", "145.6B", "529.6B")  # rows whose factor the older others take
MACHINES = PRESETS | {"H100 of 500 W": replace(H100, memory=96e9, memory_bandwidth=2.4e12)}


@cache
def models() -> dict[str, ModelConfig]:

    def mixture(hidden, layers, heads, kv_heads, head, words, experts, chosen, width):
        sizes = hidden, layers, heads, kv_heads, head, width, words, 4096
        return ModelConfig("llama", *sizes, moe=MoE(experts, chosen, width))

    deepseek = read_config(ROOT / "EP/configs/deepseek_v3.json")
    return MODELS | {
        "Mixtral 8x7B": read_config(ROOT / "EP/configs/mixtral_8x7b.json"),
        "Mixtral 8x22B": mixture(6144, 56, 48, 8, 128, 32768, 8, 2, 16384),
        "Qwen3 30B-A3B": mixture(2048, 48, 32, 4, 128, 151936, 128, 8, 768),
        "Qwen3 235B-A22B": mixture(4096, 94, 64, 4, 128, 151936, 128, 8, 1536),
        "GPT-OSS 120B": mixture(2880, 36, 64, 8, 64, 201088, 128, 4, 2880),
        # With the prediction module, which is a layer more, and a second head: twice the logits.
        "DeepSeek-V3": replace(deepseek, layers=62, vocabulary=2 * 129280),
    }


@dataclass(frozen=True)
class Measurement:
    """One measured iteration, as in bench/cluster_model/published.csv. seconds: of one step."""

    name: str
    model: ModelConfig
    layout: Layout
    seconds: float
    source: str = ""
    machine: Machine = A100_HALF
    figure: str = ""
    sets: str = ""
    missed: str = ""

    def predicted(self, machine: Machine) -> float:
        return estimate(self.model, self.layout, machine).seconds

    def error(self, machine: Machine, factor: float = 1.0) -> float:
        """Return predicted over measured, minus 1; of software that takes `factor` as long."""
        return factor * self.predicted(machine) / self.seconds - 1


class Judged(NamedTuple):
    """A row and its error."""

    row: Measurement
    error: float

    @property
    def predicted(self) -> float:
        return self.row.seconds * (1 + self.error)


@cache
def published() -> list[Measurement]:
    with (ROWS / "published.csv").open(encoding="utf-8", newline="") as file:
        return read_published(file)


def read_published(lines: Iterable[str]) -> list[Measurement]:
    rows = []
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        try:
            rows.append(_measurement(row))
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            words = f"published.csv: the row {row.get('run')!r} means nothing ({error})"
            raise ValueError(f"{words}: write it as those beside it") from None
    return rows


def _measurement(row: dict[str, str]) -> Measurement:
    name = row["model"]
    model = gpt(*map(int, name.split()[1:])) if name.startswith("gpt ") else models()[name]
    fields = {}
    for word in row["layout"].split():
        field, _, value = word.partition("=")
        fields[field] = (int(value) if value.isdigit() else value) if value else True
    layout = Layout(**fields)
    tokens, figures = layout.batch * layout.sequence, [float(f) for f in row["figure"].split("+")]
    scores, _, again = row["scores"].partition(", ")
    work = flops(model, layout.batch, layout.sequence, scores or "full")
    work = work.hardware("full") if again else work.model
    one = figures[0] * layout.gpus
    seconds = {
        "s": figures[0],
        "ms": sum(figures) / 1e3,
        "tokens/s": tokens / one,
        "TFLOP/s": work / one / 1e12,
    }[row["unit"]]
    facts = {key: row[key] for key in ("source", "figure", "sets", "missed")}
    facts["machine"] = MACHINES[row["machine"]]
    return Measurement(row["run"], model, layout, seconds, **facts)


def rows_of(source: str) -> list[Measurement]:
    return [row for row in published() if row.source == source]


def read_rows(lines: Iterable[str]) -> list[Measurement]:
    """Read rows of ten numbers, as in `measured_a100.csv`, separated by spaces or commas. They may
    begin with the number of GPUs; lines that don't begin with a digit are skipped."""
    rows = []
    for line in lines:
        if not line[:1].isdigit():
            continue
        try:
            *sizes, milliseconds = map(float, line.replace(",", " ").split())
            b, mb, h, a, layers, s, t, d, p = map(int, sizes[-9:])
            if not 0 < milliseconds < math.inf:
                raise ValueError
        except (ValueError, OverflowError):
            raise ValueError(
                f"{line.strip()!r} is not a row: write batch, micro-batch, hidden, heads, layers, "
                "sequence, tensor, data and pipeline parallel, milliseconds"
            ) from None
        layout = Layout(b, s, d, p, t, micro_batch=mb, fp32_gradients=True)
        rows.append(Measurement("", gpt(h, layers, a, s), layout, milliseconds / 1e3))
    return rows


def vtrain() -> list[Measurement]:
    """Return the 140 rows on which the constants of the A100 are set."""
    return read_rows((ROWS / "measured_a100.csv").read_text(encoding="utf-8").splitlines())


# --- judging -------------------------------------------------------------------------------------


def judged_recomputation() -> tuple[list[Judged], float]:
    """Judge table 5 by the fitted constants and one factor for the software of the paper: how much
    longer than predicted the single layers of its table 4 took, on average; return both."""
    ratios = []
    for row in rows_of(LAYERS):
        both = layer_seconds(row.model, row.layout, A100)
        ratios.append(row.seconds / sum(one.total for one in both))
    factor = fmean(ratios)
    return [Judged(row, row.error(A100, factor)) for row in rows_of(NEWER)], factor


def judged_megatron() -> list[Judged]:
    """Judge 2104.04473, table 1, by a factor of five rows; each of the five by the other four."""
    judged, given = [], [row for row in rows_of(OLDER) if row.name in SET_ON]
    for row in rows_of(OLDER):
        others = [other for other in given if other.name != row.name]
        factor = fmean(other.seconds / other.predicted(A100) for other in others)
        judged.append(Judged(row, row.error(A100, factor)))
    return judged


def tables(folds: bool = False) -> dict[str, list[Judged]]:
    """Return {source: rows} of all that judges the model.

    folds: also the 140 rows that set the constants, each judged by those of the other four fifths.
    """
    found = {}
    if folds:
        from bench.cluster_model.fit import held_out

        rows = vtrain()
        both = [Judged(row, e) for row, e in zip(rows, held_out(A100_HALF, rows), strict=True)]
        found["vTrain, one node"] = [j for j in both if j.row.layout.gpus <= 8]
        found["vTrain, 64 to 512 GPUs"] = [j for j in both if j.row.layout.gpus > 8]
    found |= {NEWER: judged_recomputation()[0], OLDER: judged_megatron()}
    for row in published():  # those that set no constant, by the constants of their machine
        if row.source not in (LAYERS, NEWER, OLDER) and not row.sets:
            found.setdefault(row.source, []).append(Judged(row, row.error(row.machine)))
    return found


def summary(found: dict[str, list[Judged]]) -> str:
    """Return the table that docs/cluster_model.md shows."""
    text = "| source | rows | mean error | largest | within 15 % |\n|---|---|---|---|---|\n"
    for name, rows in found.items():
        errors = [abs(j.error) for j in rows]
        cells = f"{len(errors)} | {fmean(errors):.1%} | {max(errors):.1%}"
        text += f"| {name} | {cells} | {sum(error <= 0.15 for error in errors)} |\n"
    return text


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser("python -m helpers.cluster.validate", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("rows", nargs="?", help="a file with rows of your own")
    file = parser.parse_args(arguments).rows
    if file:
        rows = read_rows(read_whole(Path(file)).decode(errors="replace").splitlines())
        if not rows:
            raise ValueError(f"{file} holds no row: a row begins with a digit")
        found = {file: [Judged(row, row.error(A100_HALF)) for row in rows]}
    else:
        found = tables(folds=True)
    for name, judged in found.items():
        print(f"\n{name}")
        for row, error in judged:
            missed = f"; {row.missed}" * bool(row.missed)
            said = f"{row.layout.gpus:6} GPUs {row.seconds:10.4g} s {error:+7.1%}"
            print(f"{said}  {row.name}  {row.layout}{missed}")
    print("\n" + summary(found), end="")
