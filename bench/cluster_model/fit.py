"""Set ten of a machine's constants on many measured iterations.

Least squares of the logarithm of predicted over measured, by Levenberg and Marquardt's method. Each
constant also pulls towards what data sheets and micro-benchmarks say, as strongly as that is known.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bench.cluster_model.validate import Measurement
from helpers.cluster.machine import Machine

# What is expected before any row is seen, and how well it is known: 0.1 is about 10 %.
EXPECTED = {
    "matmul": (0.75, 0.15),
    "matmul_half": (60, 1.0),
    "memory_share": (0.8, 0.05),
    "launch": (50e-6, 0.5),
    "straggle": (30e-6, 1.0),
    "step": (5e-3, 1.0),
    "inside.share": (0.75, 0.1),
    "inside.latency": (10e-6, 0.5),
    "between.share": (0.7, 0.5),
    "between.latency": (20e-6, 0.5),
}
ONE_NODE, SEVERAL = 0.1, 0.04  # how far a row may be away: short steps scatter more


def with_constants(machine: Machine, values: Sequence[float]) -> Machine:
    """Return the machine with these constants, in the order of `EXPECTED`."""
    for name, value in zip(EXPECTED, map(float, values), strict=True):
        link, _, field = name.rpartition(".")
        if link:
            field, value = link, replace(getattr(machine, link), **{field: value})
        machine = replace(machine, **{field: value})
    return machine


def fit(machine: Machine, rows: Sequence[Measurement]) -> Machine:
    """Return `machine` with the constants that explain the rows best."""
    expected = np.log([value for value, _ in EXPECTED.values()])
    spread = np.array([spread for _, spread in EXPECTED.values()])
    measured = np.log([row.seconds for row in rows])
    scatter = np.array([ONE_NODE if row.layout.gpus <= machine.node else SEVERAL for row in rows])

    def misses(z: np.ndarray) -> np.ndarray:
        tried = with_constants(machine, np.exp(z))
        predicted = np.log([row.predicted(tried) for row in rows])
        return np.concatenate([(predicted - measured) / scatter, (z - expected) / spread])

    z, damping = expected, 1e-2
    miss = misses(z)
    for _ in range(40):
        slope = np.stack([(misses(z + 1e-3 * e) - miss) / 1e-3 for e in np.eye(len(z))], axis=1)
        square, pull = slope.T @ slope, slope.T @ miss
        gain = 0.0
        while damping < 1e6 and gain <= 0:
            step = np.linalg.solve(square + damping * np.diag(np.diag(square)), -pull)
            tried = z + np.clip(step, -0.5, 0.5)
            new = misses(tried)
            gain = miss @ miss - new @ new
            damping *= 4 if gain <= 0 else 0.25
        if gain <= 0:
            break
        z, miss = tried, new
        if gain < 1e-6 * (miss @ miss):
            break
    return with_constants(machine, np.exp(z))


def held_out(machine: Machine, rows: Sequence[Measurement]) -> list[float]:
    """Return the error of each row by constants that were set on the other four fifths."""
    errors = [0.0] * len(rows)
    for fold in range(5):
        fitted = fit(machine, [row for i, row in enumerate(rows) if i % 5 != fold])
        for i in range(fold, len(rows), 5):
            errors[i] = rows[i].error(fitted)
    return errors
