"""The constants that runs on H100s set, and what judges those runs.

matmul   on four runs, least squares of log(predicted / measured): the first run in 16 bits of
         each model, on H100s of 700 W, of up to 8,192 tokens, with heads of 128
fused    on the longest sequences
hidden   on two runs that differ in it alone: on how much shorter one is than the other
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from math import log

from bench.cluster_model.experts import Published, experts, long_context
from bench.cluster_model.published import llama3
from helpers.cluster.machine import Machine
from helpers.cluster.presets import H100
from helpers.cluster.validate import Judged, Measurement

MATMUL, FUSED, HIDDEN = "matmul", "fused", "hidden"
ROUNDS = 4  # each constant depends on the others, so they are set in turn until they stay


def rows_that_set() -> dict[str, list[Measurement]]:
    """Return the rows on which each constant is set; of `hidden` both, the longer one last."""
    newer = [*experts(), *long_context()]
    rows = {name: [each.row for each in newer if each.sets == name] for name in (FUSED, HIDDEN)}
    first = [llama3()[0], *(each.row for each in newer if each.sets == MATMUL)]
    apart = replace(rows[HIDDEN][0].layout, overlap_ep=False)
    rows[HIDDEN] += [row for row in first if row.layout == apart]
    return {MATMUL: first} | rows


@cache
def machine_without(name: str = "") -> Machine:
    """Return the H100 as its rows set it, all but the row of `matmul` with this name."""
    return _set([row for row in rows_that_set()[MATMUL] if row.name != name])


def _set(given: Sequence[Measurement]) -> Machine:
    """Return the H100 with `matmul` set on these rows, and the other constants on theirs."""
    machine, rows = H100, rows_that_set()
    beside, apart = rows[HIDDEN]

    def far(tried: Machine) -> float:
        return sum(log(1 + row.error(tried)) ** 2 for row in given)

    def saved(tried: Machine) -> float:
        ratio = beside.predicted(tried) / apart.predicted(tried)
        return log(ratio * apart.seconds / beside.seconds) ** 2

    for _ in range(ROUNDS):
        machine = _least(machine, MATMUL, far)
        machine = _least(machine, FUSED, lambda tried: log(1 + rows[FUSED][0].error(tried)) ** 2)
        machine = _least(machine, HIDDEN, saved)
    return machine


def _least(machine: Machine, name: str, miss: Callable[[Machine], float]) -> Machine:
    """Return the machine with the constant, from 0.01 to 1, at which `miss` is least."""
    low, high, golden = 0.01, 1.0, (5**0.5 - 1) / 2
    for _ in range(26):
        left, right = high - golden * (high - low), low + golden * (high - low)
        tried = [miss(replace(machine, **{name: value})) for value in (left, right)]
        low, high = (low, right) if tried[0] < tried[1] else (left, high)
    return replace(machine, **{name: (low + high) / 2})


def judged_apart(rows: Sequence[Published]) -> list[Published]:
    """Return the rows; one that has set `matmul` is judged by what the other three set."""
    return [
        replace(each, machine=machine_without(each.row.name)) if each.sets == MATMUL else each
        for each in rows
    ]


def judged_llama3() -> list[Judged]:
    """Judge Llama 3 405B: the first row by the other three that set `matmul`."""
    first, *others = llama3()
    return [
        Judged(first, first.error(machine_without(first.name))),
        *(Judged(row, row.error(H100)) for row in others),
    ]


NEWER = """
Three constants of newer machines. `matmul` is set on four rows: the first one in 16 bits of each
model that ran on H100s of 700 W, with heads of 128 and up to 8,192 tokens. Least squares of
log(predicted / measured), and **each of the four is judged by what the other three set**, from
{least:.3f} to {most:.3f}. Alone they would set from {alone}: one number stands for
products of all shapes in software of two years. Most other runs take longer than the model says,
since what it doesn't count takes time. DeepSeek's kernels below, of which none has set it, are on
average as fast as `matmul` says.

`fused` is set on the row with the longest sequences, and `hidden` on how much shorter one of two
runs is, which differ in nothing else. All other rows are held out; the A100, for which no such row
is known, takes these two over. FlashAttention-2 reports 50 to 73 % of an A100's peak (arXiv
2307.08691).

| constant | meaning | set on | set | in the code |
|---|---|---|---|---|
"""
MEANING = {
    "matmul": "as above, on an H100",
    "fused": "share of the peak that fused attention reaches, with the scores it computes again",
    "hidden": "share of the messages to experts that a step gets shorter by, sent beside computing",
}


def newer_constants() -> str:
    """Return the section on the constants that runs on H100s have set."""
    rows = rows_that_set()
    apart = [machine_without(row.name).matmul for row in rows["matmul"]]
    alone = sorted(f"{_set([row]).matmul:.2f}" for row in rows["matmul"])
    text = NEWER.format(least=min(apart), most=max(apart), alone=f"{alone[0]} to {alone[-1]}")
    for name, some in rows.items():
        on = "; ".join(_run(row) for row in some)
        value = getattr(machine_without(), name)
        text += f"| `{name}` | {MEANING[name]} | {on} | {value:.3f} | {getattr(H100, name):g} |\n"
    return text


def _run(row: Measurement) -> str:
    return f"{row.name}, {row.layout.sequence:,} tokens, {row.seconds:.3g} s"
