"""CO-1: count what a LLaMA costs."""

import json
import random
import tempfile
from pathlib import Path

HINTS = (
    "Write down the matrices of one layer with their shapes: four for attention, three for the "
    "MLP. A product of (m, k) and (k, n) takes 2mnk FLOPs. Which tensors are as large as s x s "
    "for each head, and at which moment are there two of them?",
    "A layer: 2 h h + 2 h kv + 3 h i weights in matrices, two FLOPs each for a token, and two "
    "norms of h; scores and product with V, 2 s s h each. Outside: embedding, norm, and output "
    "matrix unless tied. For a token 3 h + 2 kv + 2 heads s values are alive after softmax, 8 h + "
    "2 kv + heads s + 4 i at the end. Memory = 2 bytes x (layer + s x the larger).",
)
NAME = (
    "{number} of a LLaMA with hidden {config[hidden_size]}, intermediate "
    "{config[intermediate_size]}, {config[num_hidden_layers]} layers, "
    "{config[num_attention_heads]} heads ({config[num_key_value_heads]} of keys and values), "
    "vocabulary {config[vocab_size]}, sequence {config[max_position_embeddings]}, tied: "
    "{config[tie_word_embeddings]}"
)
LESSON, MINUTES = "what_training_costs", 40
NAMES = ("parameters", "TFLOPs", "GB")


def observe(module, case):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(case["config"]), encoding="utf-8")
        answer = module.model_training_cost_analysis(str(path))
    if not isinstance(answer, tuple | list) or len(answer) != len(NAMES):
        return f"give three numbers, (parameters, TFLOPs, GB), and not {answer!r:.60}"
    number = answer[NAMES.index(case["number"])]
    plain = isinstance(number, int | float) and not isinstance(number, bool)
    return number if plain else f"{number!r} is no number"


LLAMA_7B = json.loads(Path(__file__).parents[1].joinpath("TP/llama_7b_config.json").read_text())
TOLERANCE = 1e-3  # parameters are counted exactly; the others may be rounded to four digits


def cases():
    """LLaMA-7B; one with shared heads of keys and values; one tied, with short sequences."""
    heads = random.choice((24, 32, 40))
    shared = LLAMA_7B | {
        "hidden_size": 128 * heads,
        "intermediate_size": 64 * random.randint(60, 160),
        "num_attention_heads": heads,
        "num_key_value_heads": heads // random.choice((2, 4, 8)),
        "num_hidden_layers": random.randint(5, 60),
        "vocab_size": random.randint(20_000, 130_000),
    }
    short = shared | {"num_key_value_heads": heads, "tie_word_embeddings": True}
    short["max_position_embeddings"] = random.choice((448, 512))
    configs = (LLAMA_7B, shared, short)
    return [{"config": config, "number": number} for config in configs for number in NAMES]


PEAK, NORMS, LAST = "max(after_softmax, at_the_end)", "matrices + 2 * h", "layer + h +"
TIED, FLOPS, GB = "1 if model.tied else 2", "operations / 1e12", "memory / 1e9"
SCORES, MATRICES = "2 * (2 * s * s * h)", "2 * s * matrices"
MUTANTS = {
    ("tables * model.vocabulary", "(tables * model.vocabulary + s)"): "a table of positions is in "
    "it, and a LLaMA learns none: it turns queries and keys",
    ((NORMS, "matrices"), (LAST, "layer +")): "the norms are missing: two a layer, one at the end",
    (LAST, "layer +"): "the last norm is missing, the one after all layers",
    (NORMS, "matrices"): "the two norms of each layer are missing",
    ("3 * h * i", "2 * h * i"): "the MLP of a LLaMA has three matrices: gate, up and down",
    ("model.layers * layer", "layer"): "only one layer is counted",
    ("2 * h * kv", "2 * h * h"): "K and V have fewer heads than Q here: their matrices are h x kv",
    ((NORMS, "matrices + 4 * h"), (LAST, "layer + 2 * h +")): "a norm of a LLaMA has h weights: a "
    "scale, and no shift",
    (TIED, "2"): "the output matrix is the word embedding again (tied): count it once",
    (TIED, "1"): "the output matrix is missing: it is not tied to the embedding",
    (f"{MATRICES} + {SCORES}", "s * matrices + 2 * s * s * h"): "a product takes 2mnk operations: "
    "each weight is multiplied and added",
    (FLOPS, f"model.layers * {FLOPS}"): "one layer is asked for, and these are all layers",
    (FLOPS, f"3 * {FLOPS}"): "the forward pass is asked for, and the backward pass is in it",
    (f" + {SCORES}", ""): "the attention scores, and their product with V, are missing",
    (SCORES, "2 * s * s * h"): "the scores and their product with V both take 2 s s h: one of the "
    "two is missing, or half of the scores is left out (causal), and all are asked for",
    (MATRICES, "2 * s * (matrices + model.vocabulary * h)"): "the output matrix is in it, and one "
    "layer is asked for",
    (FLOPS, "operations"): "these are operations, not TFLOPs: divide by 1e12",
    (FLOPS, "operations / s / 1e12"): "this is for one token, and the sequence has more",
    (PEAK, "after_softmax"): "just after softmax is not the peak here: take the larger of the two "
    "moments",
    (PEAK, "at_the_end"): "the end of the layer is not the peak here: take the larger of the two "
    "moments",
    ("2 * layer + 2", "2"): "the weights of the layer are missing",
    (f" + 2 * s * {PEAK}", ""): "the activations are missing: only the weights are there",
    (GB, f"2 * {GB}"): "this is for 4 bytes a value; fp16 has 2",
    (GB, "memory / 2 / 1e9"): "a value in fp16 has 2 bytes, and this counts 1",
    (GB, "memory / 2**30"): "these are GiB (2^30 bytes), and GB (1e9 bytes) are asked for",
    (GB, "memory"): "these are bytes, and GB are asked for: divide by 1e9",
    (("+ 2 * scores", "+ scores"), ("+ scores + 4", "+ 4")): "the scores before softmax and after "
    "it both live at the peak: one of the two is missing",
    ("2 * layer + 2", "2 * model.layers * layer + 2"): "one layer is asked for, and the weights "
    "of all layers are in it",
    (PEAK, "(after_softmax + at_the_end)"): "the two moments are not at the same time: take the "
    "larger, not the sum",
}


def explain(case, seen):
    return seen if isinstance(seen, str) else None
