"""GPT-2 in a pipeline of two threads beside the same blocks one after the other, on one device."""

import sys
from pathlib import Path

import torch

from bench.race import Race, seconds_of

ROWS, LENGTH, VOCAB = 64, 40, 600
MICRO = 16  # rows of a micro-batch
DEVICES = ("cpu:0", "cpu:1")


def races() -> list[Race]:
    """Forward alone, and a whole step, in milliseconds."""
    sys.path.append(str(Path(__file__).resolve().parents[1] / "gpt2"))  # its own import root
    return [_race("forward", False), _race("forward and backward", True)]


def _race(what: str, backward: bool) -> Race:
    note = "" if not backward else "autograd has one thread for the CPU: backward cannot overlap"
    return Race(
        f"GPT-2 tiny, {what}, {ROWS // MICRO} micro-batches",
        "pipeline of two threads",
        "in turn",
        lambda: milliseconds(True, backward),
        lambda: milliseconds(False, backward),
        unit="ms",
        note=note,
    )


def milliseconds(pipeline: bool, backward: bool) -> float:
    """The best of three, after one that warms up; one thread for each part."""
    from pipeline.model_parallel import GPT2LMHeadModelParallel
    from project.models import make_config, make_model

    torch.set_num_threads(1)
    model = make_model(make_config("tiny", VOCAB, LENGTH), kind=GPT2LMHeadModelParallel)
    model.parallelize(DEVICES)
    if pipeline:
        model._prepare_pipeline_parallel(MICRO)
    ids = torch.randint(0, VOCAB, (ROWS, LENGTH))

    def once() -> None:
        logits = model(input_ids=ids).logits
        if backward:
            logits.square().mean().backward()

    times = [seconds_of(once) for _ in range(4)]
    model.deparallelize()
    return 1e3 * min(times[1:])
