"""The page docs/cluster_model.md: how the constants were set, and the error of every row."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean

from bench.cluster_model.published import llama3
from bench.cluster_model.torchtitan import torchtitan
from helpers.cluster.memory import memory
from helpers.cluster.validate import Judged, Measurement
from helpers.cost import flops

MEANING = {
    "matmul": "share of the peak that endless matrix products reach",
    "matmul_half": "a dimension of a product of this size costs as much again",
    "memory_share": "share of the memory's bandwidth that other kernels reach",
    "launch": "seconds of the host for one kernel",
    "straggle": "seconds that a collective in a layer waits for each further rank",
    "step": "seconds of a step that belong to no layer",
    "inside.share": "share of NVLink's bandwidth",
    "inside.latency": "seconds of one step of a message in a node",
    "between.share": "share of the network cards' bandwidth",
    "between.latency": "seconds of one step of a message between nodes",
}
PUBLISHED = {
    "vTrain, one node": "vTrain 8.4%, on all its rows",
    "vTrain, 64 to 512 GPUs": "vTrain 14.7%, on all its rows",
    "arXiv 2205.05198, table 5": "Calculon 3.7%, largest 8.9%",
}
HEAD = """\
# The cluster model against measured clusters

Made by `python -m helpers.cluster.validate`. Do not edit.

`helpers.cluster` predicts the time of a training step from the sizes of the model, the layout and
the machine. Here is what it says about iterations that were measured, row by row. Error: predicted
over measured, minus 1. **No row is judged by a constant that it has set.** For rows of your own:
`python -m helpers.cluster.validate rows.csv`; what a row must hold stands at the top of
`bench/cluster_model/validate.py`.

| source | rows | mean error | largest | judged by | FLOPs x one factor | others, as published |
|---|---|---|---|---|---|---|
"""
SET = """
## How the constants were set

Ten constants, on 140 iterations of Megatron-LM on A100 80 GB, from vTrain's public measurements
(arXiv 2312.12391; Copyright (c) 2024 VIA Research Group at KAIST, MIT licence): 120 on one node, 20
on 64 to 512 GPUs. Least squares of log(predicted / measured); rows on one node may be 10 % away,
those on several 4 %. Each constant also pulls towards what was expected before, as strongly as that
was known. Assumed of these runs: gradients of 4 bytes, which the source does not say (with 2 bytes
the rows on several nodes come out at 5.6 %); 51,200 words; network cards of 12.5 GB/s for each GPU.

| constant | meaning | expected, and how well it is known | set | in the code |
|---|---|---|---|---|
"""
SOURCES = """
Counted, not set: the kernels of a layer and the bytes that each reads and writes
(`helpers/cluster/layer.py`), 56 bytes a parameter for Adam, and the operations of
`helpers.cost`.

**One factor a source**, for its generation of the software:

- arXiv 2205.05198: {newer:.3f}, from the single layers of its table 4. Its table 5 sets nothing.
- arXiv 2104.04473: {older:.3f}, from five rows ({five}).
  Each of these five is judged by the factor of the other four. Where the paper's scripts choose
  torch's DDP, gradients are averaged during the backward pass.
- Both ran on machines with one network card of 25 GB/s for each GPU.
- H100: none.

## Where it is weak

- Short steps of small models. The host decides there, and hosts differ: the same kernels took from
  3.1 to 5.1 ms a layer in these runs.
- Tensor parallelism across nodes: one row of 140 has it, and judged without itself it is
  {tp16:+.0%} away.
- Messages of the pipeline are never hidden, except in a DualPipe. 1F1B, plain and interleaved, and
  DualPipe are modelled.
- Experts without a fixed capacity, where the host waits for their sizes.
- DeepSeek-V3 has a time here and no memory: `estimate`, `memory` and `search` refuse latent
  attention.
{better}
- Between recomputing nothing and all there are attention's scores and torchtitan's every second
  product: runs that recompute norms, activations or experts only are priced as if they recomputed
  nothing.
- Fused attention with heads narrower than 128, which reaches less than the share set with 128.
- Memory is held against few measurements. All measured runs on A100s fit into 80 GB by it. Llama 3
  405B, which kept all activations on 80 GB, takes {room} on 8,192 and 16,384 GPUs.
  That is within 5 %, but on 8,192 GPUs `search` drops the layout that ran, and puts first ZeRO 3
  over 2,048 replicas, which no row tests. Of torchtitan's compiled 8B it says {titan}
  on 8 and 128 GPUs, where 82.7 GB and 66.6 GB were reserved: FSDP's shares are right, torch's
  cross-entropy keeps more than the 6 bytes counted for a logit. What the framework itself takes is
  not counted.
- What overlaps is free, except for messages to experts: others beside computing don't slow it down.
- H200 and B200 are data sheets with the shares of the H100; nothing was measured.

## What no row tests

HSDP; ZeRO 3 over more than 128 replicas; Ulysses; experts that are cut, and experts on more than 64
ranks; unbalanced experts and dropped tokens; latent attention beyond 4,096 tokens; fused attention
on A100s; sequences beyond 131,072 tokens; memory beyond the four runs above.
"""
BETTER = """\
- One factor for the FLOPs does better than the model on
  {}.
  Such a factor is set on the source's other rows and so knows how fast their software is; the
  model's constants are mostly other software's. With one factor set in the same way, the model is
  {} away. So on the first two it is mostly the level that is wrong: measure one
  run of yours, and scale by it (`Machine.slower`). On the last it is also the difference between
  70B and 405B, of which FLOPs alone tell more."""

Constant = tuple[str, float, float, float, float]  # name, expected, spread, set, in the code


@dataclass(frozen=True)
class Table:
    """A section of rows. judged_by: the constants. rows: those that count in the summary.

    text: what stands under the heading instead of a plain table of the rows, its heading included.
    """

    name: str
    judged_by: str
    rows: Sequence[Judged]
    text: str = ""


def page(
    constants: Sequence[Constant],
    tables: Sequence[Table],
    newer_factor: float,
    older_factor: float,
    set_on: Sequence[str],
    newer: str,
    assumptions: str,
) -> str:
    """The whole page, in Markdown.

    newer: the constants that runs on H100s have set. assumptions: a section of its own.
    """
    text = HEAD + "".join(map(_summary, tables)) + assumptions + SET
    for name, value, spread, now, code in constants:
        text += (
            f"| `{name}` | {MEANING[name]} | {value:g}, ±{spread:.0%} | {now:.3g} | {code:.3g} |\n"
        )
    rows = [j for table in tables for j in table.rows]
    tp16 = next((j.error for j in rows if j.row.layout.tp > 8), 0.0)
    text += newer + SOURCES.format(
        newer=newer_factor,
        older=older_factor,
        five=", ".join(set_on),
        tp16=tp16,
        better=better(tables),
        room=_room(llama3()[:2]),
        titan=_room([each.row for each in torchtitan() if each.row.name == "8B, compile"]),
    )
    for table in tables:
        text += table.text or f"\n## {table.name}\n\n" + _rows(table.rows)
    return text


def _room(rows: Sequence[Measurement]) -> str:
    """What two rows take."""
    return " and ".join(f"{memory(row.model, row.layout).total / 1e9:.1f} GB" for row in rows)


def _summary(table: Table) -> str:
    errors = [abs(j.error) for j in table.rows]
    simple = f"{_simple(table.rows):.1%}" if len(table.rows) > 1 else ""
    cells = (table.name, len(errors), f"{fmean(errors):.1%}", f"{max(errors):.1%}")
    cells += (table.judged_by, simple, PUBLISHED.get(table.name, ""))
    return f"| {' | '.join(map(str, cells))} |\n"


def _simple(rows: Sequence[Judged]) -> float:
    """Mean error of the simplest rival: operations over the peak, times one factor."""
    works = []
    for j in rows:
        step = flops(j.row.model, j.row.layout.batch, j.row.layout.sequence)
        works.append(step.hardware(j.row.layout.recompute) / j.row.layout.gpus)
    return _scaled(rows, works)


def _scaled(rows: Sequence[Judged], works: Sequence[float]) -> float:
    """Mean error of what is in proportion to works: each row is judged by the others' factor."""
    rates = [j.row.seconds / work for j, work in zip(rows, works, strict=True)]
    factors = [geometric_mean(rates[:i] + rates[i + 1 :]) for i in range(len(rates))]
    return fmean([abs(f / rate - 1) for f, rate in zip(factors, rates, strict=True)])


def better(tables: Sequence[Table]) -> str:
    """Where the simplest rival does better than the model, and whether one factor would help."""
    text, scaled = [], []
    for table in (table for table in tables if len(table.rows) > 1):
        simple, mean = _simple(table.rows), fmean([abs(j.error) for j in table.rows])
        if simple < mean:
            text.append(f'"{table.name}" ({simple:.1%} against {mean:.1%})')
            scaled.append(f"{_scaled(table.rows, [j.predicted for j in table.rows]):.1%}")
    return BETTER.format(";\n  ".join(text), ", ".join(scaled))


def _rows(rows: Sequence[Judged]) -> str:
    text = "| model | GPUs | batch | layout | measured, s | predicted, s | error |\n"
    text += "|---|---|---|---|---|---|---|\n"
    for j in rows:
        model, layout = j.row.model, j.row.layout
        name = j.row.name or f"h {model.hidden}, l {model.layers}, s {layout.sequence}"
        cells = (name, layout.gpus, layout.batch, layout, f"{j.row.seconds:.4g}")
        cells += (f"{j.predicted:.4g}", f"{j.error:+.1%}")
        text += f"| {' | '.join(map(str, cells))} |\n"
    return text
