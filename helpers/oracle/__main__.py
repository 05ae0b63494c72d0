"""Compare a step of two scripts: one that trains on one device, and one that does it in parallel.

    python -m helpers.oracle SINGLE PARALLEL --ranks 4
    python -m helpers.oracle train.py train_fsdp.py --ranks 2 --step 1 --both "--batch 8 --lr 0.1"

The scripts need no changes. Both must begin with the same weights (one seed), read the same data in
a step, and call one torch.nn.Module and optimizer.step(). SGD and float64 make the comparison
sharper. Where SINGLE calls backward once for each micro-batch, in the order of the ranks, more
mistakes can be told apart. The answer is 0 where the steps agree, 1 where they differ, and 2 where
they can't be compared.
"""

import argparse
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch

from helpers.oracle import record
from helpers.oracle.judge import Comparison, Judgment, judge
from helpers.oracle.record import CannotRecord
from helpers.oracle.step import GatherError, Step, gather
from helpers.ranks import run_script


def compare_scripts(
    single: str,
    parallel: str,
    ranks: int,
    at: int = 0,
    arguments: Sequence[Sequence[str]] = ((), ()),
) -> Judgment:
    """Run both scripts to the end of step `at`, counted from 0, and judge the parallel one.

    arguments: those of `single`, and those of `parallel`. Raises CannotRecord where a script fails,
    takes too few steps, or has no model to compare, or where the ranks don't make up one.
    """
    (one,) = recorded(single, 1, at, arguments[0])
    many = recorded(parallel, ranks, at, arguments[1])
    if all(set(rank.before) >= set(one.before) for rank in many):
        return judge(one, many)
    try:
        return judge(one, gather(many, one.before))  # each rank holds some stages
    except GatherError as error:
        raise CannotRecord(f"the ranks don't make up one model: {error}") from None


def recorded(script: str, ranks: int, at: int, arguments: Sequence[str]) -> list[Step]:
    if not Path(script).is_file():
        raise CannotRecord(f"there is no script {script}")
    with tempfile.TemporaryDirectory() as folder:
        values = [folder, str(at), script, *arguments]
        report = run_script(record.__file__, ranks, values, quiet=True)
        if report.failure:
            raise CannotRecord(f"{script} failed, so nothing is compared: {report.failure}")
        for said in sorted(Path(folder).glob("*.txt")):
            raise CannotRecord(f"{script}, rank {said.stem}: {said.read_text(encoding='utf-8')}")
        files = [Path(folder, f"{rank}.pt") for rank in range(ranks)]
        return [torch.load(file, weights_only=False) for file in files]


def first_difference(judgment: Judgment) -> Comparison | None:
    """Return the wrong tensor that a step computes first: gradients from the output backward."""
    wrong = [row for row in judgment.rows if not row.ok]
    gradients = [row for row in wrong if row.kind == "gradient"]
    return gradients[-1] if gradients else next(iter(wrong), None)


def main(arguments: list[str] | None = None) -> int:
    """Compare; return 0 for equal steps, 1 for different ones, 2 where nothing can be said."""
    parser = argparse.ArgumentParser("python -m helpers.oracle", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("single", help="the script that trains on one device")
    add("parallel", help="the script that trains on several ranks")
    add("--ranks", type=int, default=2, help="how many ranks of PARALLEL (2)")
    add("--step", type=int, default=0, help="which step, counted from 0 (0)")
    add("--both", default="", metavar="FLAGS", help='of both scripts: "--lr 0.1"')
    add("--of-single", default="", metavar="FLAGS", help="of SINGLE alone")
    add("--of-parallel", default="", metavar="FLAGS", help="of PARALLEL alone")
    options = parser.parse_args(arguments)
    flags = [shlex.split(f"{options.both} {o}") for o in (options.of_single, options.of_parallel)]
    scripts = options.single, options.parallel
    try:
        found = compare_scripts(*scripts, options.ranks, options.step, flags)
    except ValueError as error:  # ours, and wrong arguments
        print(f"not compared: {error}", file=sys.stderr)
        return 2
    if first := first_difference(found):
        far = first.text or f"off by {first.relative:.1e} of its largest entry"
        print(f"First to differ: the {first.kind} of {first.name} on rank {first.rank} ({far}).")
    print(found)
    return 0 if found.ok else 1


if __name__ == "__main__":
    sys.exit(main())
