"""CO-1: the three numbers of a LLaMA by hand, and with one part of the count done wrong."""

import random

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


def truth(
    case,
    norms=2,
    last=1,
    shift=1,
    mlp=3,
    as_queries=False,
    one_layer=False,
    tables=None,
    positions=0,
    product=2,
    scores=4,
    passes=1,
    all_layers=False,
    logits=0,
    one_token=False,
    weights=1,
    softmax=2,
    moment=max,
    size=2,
    tera=1e12,
    giga=1e9,
):
    """The number that the case asks for. The keywords are the parts that can go wrong."""
    c = case["config"]
    h, i, heads = c["hidden_size"], c["intermediate_size"], c["num_attention_heads"]
    s, layers, table = c["max_position_embeddings"], c["num_hidden_layers"], c["vocab_size"] * h
    kv = h // heads * c["num_key_value_heads"]
    matrices = 2 * h * h + 2 * h * (h if as_queries else kv) + mlp * h * i
    if case["number"] == "parameters":
        if tables is None:
            tables = 1 if c["tie_word_embeddings"] else 2
        each = matrices + shift * norms * h
        outside = tables * table + shift * last * h + positions * s * h
        return (1 if one_layer else layers) * each + outside
    if case["number"] == "TFLOPs":
        found = s * (product * matrices + product * scores // 2 * s * h + 2 * logits * table)
        found *= passes * (layers if all_layers else 1)
        return (found // s if one_token else found) / tera
    probabilities = heads * s
    after_softmax = 3 * h + 2 * kv + softmax * probabilities
    at_the_end = 8 * h + 2 * kv + (softmax - 1) * probabilities + 4 * i
    layer = (matrices + 2 * h) * (layers if weights == "all" else weights)
    return size * (layer + s * moment((after_softmax, at_the_end))) / giga


MISTAKES = {
    "a table of positions is in it; a LLaMA turns its queries and keys instead (rotary "
    "positions), and learns nothing for that": {"positions": 1},
    "the norms are missing: two a layer and one at the end": {"norms": 0, "last": 0},
    "the last norm is missing, the one after all layers": {"last": 0},
    "the two norms of each layer are missing": {"norms": 0},
    "the MLP of a LLaMA has three matrices: gate, up and down": {"mlp": 2},
    "only one layer is counted": {"one_layer": True},
    "K and V have fewer heads than Q here: their matrices are h x kv": {"as_queries": True},
    "a norm of a LLaMA has h weights: a scale, and no shift": {"shift": 2},
    "the output matrix is the word embedding again (tied): count it once": {"tables": 2},
    "the output matrix is missing: it is not tied to the embedding": {"tables": 1},
    "a product takes 2mnk operations: each weight is multiplied and added": {"product": 1},
    "one layer is asked for, and these are all layers": {"all_layers": True},
    "the forward pass alone is asked for, and the backward pass is in it": {"passes": 3},
    "the attention scores, and their product with V, are missing": {"scores": 0},
    "the scores and their product with V both take 2 s s h: one of the two is missing, or half of "
    "the scores is left out (causal), and all are asked for": {"scores": 2},
    "the output matrix is in it, and one layer is asked for": {"logits": 1},
    "these are operations, not TFLOPs: divide by 1e12": {"tera": 1},
    "this is for one token, and the sequence has more": {"one_token": True},
    "just after softmax is not the peak here: the larger of the two moments counts, and this is "
    "the smaller": {"moment": lambda both: both[0]},
    "the end of the layer is not the peak here: the larger of the two moments counts, and this is "
    "the smaller": {"moment": lambda both: both[1]},
    "the weights of the layer are missing": {"weights": 0},
    "the activations are missing: only the weights are there": {"moment": lambda both: 0},
    "this is for 4 bytes a value; fp16 has 2": {"size": 4},
    "a value in fp16 has 2 bytes, and this counts 1": {"size": 1},
    "these are GiB (2^30 bytes), and GB (1e9 bytes) are asked for": {"giga": 2**30},
    "these are bytes, and GB are asked for: divide by 1e9": {"giga": 1},
    "the scores before softmax and after it both live at the peak: one of the two is missing": {
        "softmax": 1
    },
    "one layer is asked for, and the weights of all layers are in it": {"weights": "all"},
    "the two moments are not at the same time: take the larger, not the sum": {"moment": sum},
}


def explain(case, seen):
    if isinstance(seen, dict):
        return f"give three numbers, (parameters, TFLOPs, GB), and not {seen['not three numbers']}"
    if isinstance(seen, bool) or not isinstance(seen, int | float):
        return f"{seen!r} is no number"
    return f"{seen:.6g} is not right"
