"""Judge the cluster model by measured clusters, row by row.

    python -m helpers.cluster.validate                writes docs/cluster_model.md
    python -m helpers.cluster.validate rows.csv       prints the errors of your own rows

A row of a file: batch, micro-batch, hidden, heads, layers, sequence, tensor, data and pipeline
parallel, milliseconds; on A100s with half the network cards, 1F1B and full recomputation.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from bench.cluster_model.experts import Published, eight_bits, experts, long_context
from bench.cluster_model.fit import EXPECTED, constants, fit, held_out
from bench.cluster_model.h100 import judged_apart, judged_llama3, newer_constants
from bench.cluster_model.newer import (
    EIGHT,
    FSDP,
    assumptions,
    experts_text,
    long_context_text,
    section,
)
from bench.cluster_model.page import Table, page
from bench.cluster_model.published import megatron, read_rows, vtrain
from bench.cluster_model.torchtitan import torchtitan
from helpers.cluster.machine import Machine
from helpers.cluster.presets import A100, A100_HALF
from helpers.cluster.validate import Judged, Measurement, judged_recomputation
from helpers.files import read_whole, write_whole
from helpers.plain_errors import plain_errors

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cluster_model.md"
SET_ON = ("1.7B", "7.5B", "39.1B", "145.6B", "529.6B")  # rows whose factor the other rows take


def factor_of(rows: Sequence[Measurement], machine: Machine) -> float:
    """Return how much longer a source's software takes than predicted, averaged over these rows."""
    return mean([row.seconds / row.predicted(machine) for row in rows])


def judged_vtrain() -> tuple[list[Judged], list[Judged]]:
    """Judge the calibration rows by constants fitted without them: one node, several nodes."""
    rows = vtrain()
    errors = held_out(A100_HALF, rows)
    both = [Judged(row, error) for row, error in zip(rows, errors, strict=True)]
    one = [j for j in both if j.row.layout.gpus <= A100_HALF.node]
    return one, [j for j in both if j not in one]


def judged_megatron() -> tuple[list[Judged], float]:
    """Judge 2104.04473, table 1, by a factor of five rows; each of the five by the other four."""
    rows = megatron()
    given = [row for row in rows if row.name in SET_ON]
    factor = factor_of(given, A100)
    judged = []
    for row in rows:
        others = [other for other in given if other.name != row.name]
        mine = factor_of(others, A100) if row.name in SET_ON else factor
        judged.append(Judged(row, row.error(A100.slower(mine))))
    return judged, factor


def tables() -> tuple[list[Table], float, float]:
    """Return the page's tables, and the factors of the two older sources.

    Rows of another source are one entry more: a name, what judges them, and the rows.
    """
    one, several = judged_vtrain()
    newer, newer_factor = judged_recomputation()
    older, older_factor = judged_megatron()
    folds, held = (
        "constants set on the other four fifths of the 140 rows",
        "constants of other rows",
    )

    def out(rows: Sequence[Published]) -> list[Judged]:
        return [Judged(each.row, each.error) for each in rows if each.sets in ("", "matmul")]

    titan, eight, long = torchtitan(), eight_bits(), long_context()
    mixtures = judged_apart(experts())
    entries = [
        Table("vTrain, one node", folds, one),
        Table("vTrain, 64 to 512 GPUs", folds, several),
        Table("arXiv 2205.05198, table 5", "those constants, and the factor of table 4", newer),
        Table("arXiv 2104.04473, table 1", "those constants, and the factor of other rows", older),
        Table("Llama 3 405B on H100", "H100, without the row judged", judged_llama3()[:2]),
        Table("torchtitan, FSDP on H100", held, out(titan), section(FSDP, titan)),
        Table("Experts", held, out(mixtures), experts_text(mixtures)),
        Table("Dense models in 8 bits", held, out(eight), section(EIGHT, eight)),
        Table("Long context", held, out(long), long_context_text(long)),
    ]
    return entries, newer_factor, older_factor


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m helpers.cluster.validate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rows", nargs="?", help="a file with rows of your own")
    file = parser.parse_args(arguments).rows
    if file:
        rows = read_rows(read_whole(file).decode(errors="replace").splitlines())
        if not rows:
            raise ValueError(f"{file} holds no row: a row begins with a digit")
        errors = [row.error(A100_HALF) for row in rows]
        for row, error in zip(rows, errors, strict=True):
            print(f"{row.layout.gpus:5} GPUs  {row.seconds:9.3f} s  {error:+7.1%}  {row.layout}")
        for name, here in (("one node", True), ("several nodes", False)):
            some = [
                abs(error)
                for row, error in zip(rows, errors, strict=True)
                if (row.layout.gpus <= A100_HALF.node) is here
            ]
            if some:
                print(f"{name}: {len(some)} rows, mean {mean(some):.1%}, largest {max(some):.1%}")
        return
    now = constants(fit(A100_HALF, vtrain()))
    table = [(name, *EXPECTED[name], now[name], constants(A100_HALF)[name]) for name in EXPECTED]
    entries, newer_factor, older_factor = tables()
    words = newer_constants(), assumptions()
    write_whole(PAGE, page(table, entries, newer_factor, older_factor, SET_ON, *words))
    print(f"{PAGE.name}: {sum(len(entry.rows) for entry in entries)} rows")


if __name__ == "__main__":
    with plain_errors():
        main(sys.argv[1:])
