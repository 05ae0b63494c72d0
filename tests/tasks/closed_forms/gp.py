"""GPT-2 on one device, and what a pipeline's clock must hold, pair by pair."""

import sys

import torch

from helpers.check.task import ROOT


def one_part_a_tick(case):
    """Each micro-batch goes on by one part with each tick, and enters at the tick of its number."""
    batches, parts = case
    found = {f"tick {tick}": {} for tick in range(batches + parts - 1)}
    for i in range(batches):
        for j in range(parts):
            found[f"tick {i + j}"][f"part {j}"] = f"micro-batch {i}"
    return found


def without_threads(case):
    x = case["batches"]
    for layer in case["layers"]:
        x = [torch.nn.functional.linear(batch, **layer) for batch in x]
    facts = {
        "asked before an answer is taken": "part 0 and part 1",
        "raised": "the error of the layer",
    }
    return {**facts, "micro-batches": x}


def on_one_device(case):
    sys.path.append(str(ROOT / "gpt2"))
    from project.models import make_config, make_model

    model, draw = make_model(make_config("tiny", 50, 16)), torch.Generator()
    draw.manual_seed(case["seed"])
    for p in model.parameters():
        p.data += 0.05 * torch.randn(p.shape, generator=draw)
    with torch.no_grad():
        logits = model(input_ids=case["ids"], attention_mask=case["mask"]).logits
    logits[case["mask"] == 0] = 0
    return {
        "parts": [2, 2],
        "split size": 3,
        "weights by their plain names": True,
        "shares the weights": True,
        "logits": logits,
    }


PARTS = "gpt2/tests/test_pipeline.py::test_a4_2_1_a_new_part_begins_where_the_device_changes"
CLOSED_FORMS = {
    "GP-3": PARTS,
    "GP-4": one_part_a_tick,
    "GP-5": without_threads,
    "GP-7": on_one_device,
}
