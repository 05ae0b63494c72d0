"""CO-1: count the parameters, operations and bytes of a LLaMA by hand."""

import json
import random
import tempfile
from pathlib import Path

from helpers.grade import Task

TASK = Task(
    title="count what a LLaMA costs",
    file="TP/model_training_cost_analysis.py",
    function="model_training_cost_analysis",
    lesson="what_training_costs",
    minutes=40,
    hints=(
        "Write down the matrices of one layer with their shapes: four for attention, three for the "
        "MLP. A product of (m, k) and (k, n) takes 2mnk FLOPs. Which tensors are as large as "
        "s x s for each head, and at which moment are there two of them?",
        "A layer has 2 h h + 2 h kv + 3 h i weights in its matrices, and two norms of h. Each "
        "weight takes two FLOPs for each token; the scores and their product with V take 2 s s h "
        "each. Outside the layers: a word embedding, one norm, and an output matrix, unless it "
        "is the embedding again.",
        "Just after softmax, 3 h + 2 kv + 2 heads s values are alive for each token, and at the "
        "end 8 h + 2 kv + heads s + 4 i. Memory = 2 bytes x (weights of the layer + s x the "
        "larger of the two). Return (parameters, FLOPs / 1e12, bytes / 1e9).",
    ),
)
NAMES = ("parameters", "TFLOPs", "GB")


def observe(module, case):
    """Ask for the three numbers of a config; return one of them.

    case: {"config": the fields of a config.json, "number": one of NAMES}.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(case["config"]), encoding="utf-8")
        answer = module.model_training_cost_analysis(str(path))
    if not isinstance(answer, tuple | list) or len(answer) != len(NAMES):
        return {"not three numbers": repr(answer)[:60]}
    return answer[NAMES.index(case["number"])]


LLAMA_7B = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "num_hidden_layers": 32,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": False,
}
TOLERANCE = 1e-3  # parameters are counted exactly; the others may be rounded to four digits


def cases(seed):
    """LLaMA-7B; one with shared heads of keys and values; one tied, with short sequences."""
    draw = random.Random(seed)
    heads = draw.choice((24, 32, 40))
    shared = LLAMA_7B | {
        "hidden_size": 128 * heads,
        "intermediate_size": 64 * draw.randint(60, 160),
        "num_attention_heads": heads,
        "num_key_value_heads": heads // draw.choice((2, 4, 8)),
        "num_hidden_layers": draw.randint(5, 60),
        "vocab_size": draw.randint(20_000, 130_000),
    }
    short = shared | {
        "num_key_value_heads": heads,
        "max_position_embeddings": draw.choice((448, 512)),
        "tie_word_embeddings": True,
    }
    return [
        {"config": config, "number": number}
        for config in (LLAMA_7B, shared, short)
        for number in ("parameters", "TFLOPs", "GB")
    ]


def name(case):
    c = case["config"]
    return (
        f"{case['number']} of a LLaMA with hidden {c['hidden_size']}, intermediate "
        f"{c['intermediate_size']}, {c['num_hidden_layers']} layers, {c['num_attention_heads']} "
        f"heads ({c['num_key_value_heads']} of keys and values), vocabulary {c['vocab_size']}, "
        f"sequence {c['max_position_embeddings']}{', tied' if c['tie_word_embeddings'] else ''}"
    )


MOMENT = "max(after_softmax, at_the_end)"
MUTANTS = {
    ("tables * model.vocabulary", "(tables * model.vocabulary + s)"): "a table of positions is in "
    "it; a LLaMA turns its queries and keys instead (rotary positions), and learns nothing for "
    "that",
    (("matrices + 2 * h", "matrices"), ("layer + h +", "layer +")): "the norms are missing: two a "
    "layer and one at the end",
    ("layer + h +", "layer +"): "the last norm is missing, the one after all layers",
    ("matrices + 2 * h", "matrices"): "the two norms of each layer are missing",
    ("3 * h * i", "2 * h * i"): "the MLP of a LLaMA has three matrices: gate, up and down",
    ("model.layers * layer", "layer"): "only one layer is counted",
    ("2 * h * kv", "2 * h * h"): "K and V have fewer heads than Q here: their matrices are h x kv",
    (
        ("matrices + 2 * h", "matrices + 4 * h"),
        ("layer + h +", "layer + 2 * h +"),
    ): "a norm of a LLaMA has h weights: a scale, and no shift",
    ("1 if model.tied else 2", "2"): "the output matrix is the word embedding again (tied): count "
    "it once",
    ("1 if model.tied else 2", "1"): "the output matrix is missing: it is not tied to the "
    "embedding",
    ("2 * s * matrices + 2 * (2 * s * s * h)", "s * matrices + 2 * s * s * h"): "a product takes "
    "2mnk operations: each weight is multiplied and added",
    ("operations / 1e12", "model.layers * operations / 1e12"): "one layer is asked for, and these "
    "are all layers",
    ("operations / 1e12", "3 * operations / 1e12"): "the forward pass alone is asked for, and the "
    "backward pass is in it",
    (" + 2 * (2 * s * s * h)", ""): "the attention scores, and their product with V, are missing",
    ("2 * (2 * s * s * h)", "2 * s * s * h"): "the scores and their product with V both take 2 s s "
    "h: one of the two is missing, or half of the scores is left out (causal), and all are asked "
    "for",
    ("2 * s * matrices", "2 * s * (matrices + model.vocabulary * h)"): "the output matrix is in "
    "it, and one layer is asked for",
    ("operations / 1e12", "operations"): "these are operations, not TFLOPs: divide by 1e12",
    ("operations / 1e12", "operations / s / 1e12"): "this is for one token, and the sequence has "
    "more",
    (MOMENT, "after_softmax"): "just after softmax is not the peak here: the larger of the two "
    "moments counts, and this is the smaller",
    (MOMENT, "at_the_end"): "the end of the layer is not the peak here: the larger of the two "
    "moments counts, and this is the smaller",
    ("2 * layer + 2", "2"): "the weights of the layer are missing",
    (f" + 2 * s * {MOMENT}", ""): "the activations are missing: only the weights are there",
    ("memory / 1e9", "2 * memory / 1e9"): "this is for 4 bytes a value; fp16 has 2",
    ("memory / 1e9", "memory / 2 / 1e9"): "a value in fp16 has 2 bytes, and this counts 1",
    ("memory / 1e9", "memory / 2**30"): "these are GiB (2^30 bytes), and GB (1e9 bytes) are asked "
    "for",
    ("memory / 1e9", "memory"): "these are bytes, and GB are asked for: divide by 1e9",
    (("+ 2 * scores", "+ scores"), ("+ scores + 4", "+ 4")): "the scores before softmax and after "
    "it both live at the peak: one of the two is missing",
    ("2 * layer + 2", "2 * model.layers * layer + 2"): "one layer is asked for, and the weights of "
    "all layers are in it",
    (MOMENT, "(after_softmax + at_the_end)"): "the two moments are not at the same time: take the "
    "larger, not the sum",
}


def explain(case, seen):
    if isinstance(seen, dict):
        return f"give three numbers, (parameters, TFLOPs, GB), and not {seen['not three numbers']}"
    if isinstance(seen, bool) or not isinstance(seen, int | float):
        return f"{seen!r} is no number"
    return None
