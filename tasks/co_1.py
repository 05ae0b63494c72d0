"""CO-1: count the parameters, operations and bytes of a LLaMA by hand."""

import json
import math
import random
import tempfile
from pathlib import Path

from helpers.cost import flops, forward_peak, parameters, read_config
from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="CO-1",
    title="count what a LLaMA costs",
    file="TP/model_training_cost_analysis.py",
    function="model_training_cost_analysis",
    notebook="12",
    points=15,
    minutes=40,
    hints=(
        "Write down the matrices of one layer with their shapes: four for attention, three for the "
        "MLP. A product of (m, k) and (k, n) takes 2mnk operations. Which tensors are as large as "
        "s x s for each head, and at which moment are there two of them?",
        "A layer has 2 h h + 2 h kv + 3 h i weights in its matrices, and two norms of h. Each "
        "weight works twice for each token; the scores and their product with V take 2 s s h "
        "each. Outside of the layers: a word embedding, one norm, and an output matrix if it is "
        "not the embedding again.",
        "Just after softmax 3 h + 2 kv + 2 heads s values live for each token, at the end "
        "8 h + 2 kv + heads s + 4 i. Memory = 2 bytes x (weights of the layer + s x the larger of "
        "the two). Give (parameters, operations / 1e12, bytes / 1e9).",
    ),
)

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
NAMES = ("parameters", "TFLOPs", "GB")


def configs(seed):
    """LLaMA-7B; one with shared heads of keys and values; one tied, with short sequences."""
    draw = random.Random(seed)
    heads = draw.choice((16, 24, 40))
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
        "max_position_embeddings": draw.choice((256, 320)),
        "tie_word_embeddings": True,
    }
    return [LLAMA_7B, shared, short]


def work(module, seed):
    """On one rank, beside the student's code: its answer for each config."""
    answers = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        for fields in configs(seed):
            path.write_text(json.dumps(fields), encoding="utf-8")
            answers.append(module.model_training_cost_analysis(str(path)))
    return answers


def verify(submission: Submission) -> None:
    """Compare with the lab's own counts. Raises Mistake or WorkFailed."""
    (answers,) = submission.on_ranks(work, 1, submission.seed)
    for fields, answer in zip(configs(submission.seed), answers, strict=True):
        judge(read_config(fields), answer)


def judge(model, answer):
    """Raises Mistake, which names the mistake where it is a known one."""
    where = (
        f"a LLaMA with hidden {model.hidden}, intermediate {model.intermediate}, {model.layers} "
        f"layers, {model.heads} heads ({model.kv_heads} of keys and values), vocabulary "
        f"{model.vocabulary}, sequence {model.positions}{', tied' if model.tied else ''}"
    )
    if not isinstance(answer, tuple | list) or len(answer) != 3:
        raise Mistake(f"give three numbers, (parameters, TFLOPs, GB), and not {answer!r}")
    for name, given, found in zip(NAMES, answer, truths(model), strict=True):
        right, known = found
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise Mistake(f"{name}: {given!r} is no number")
        if close(given, right, name):
            continue
        for value, sentence in known.items():
            if close(given, value, name):
                raise Mistake(f"{name}: {sentence} ({where})")
        raise Mistake(f"{name}: {given:.6g} is not right, for {where}")


def close(given, right, name):
    """Parameters are counted exactly; the others may be rounded to four digits."""
    return (
        given == right
        if name == "parameters"
        else math.isclose(given, right, rel_tol=2e-4, abs_tol=6e-5)
    )


def truths(model):
    """For each of the three numbers: the right one, and {wrong one: what was done}."""
    return count(model), operations(model), memory(model)


def count(model):
    total, h, layers = parameters(model).total, model.hidden, model.layers
    table, mlp = model.vocabulary * h, h * model.intermediate
    wrong = {
        total + model.positions * h: "a table of positions is in it; a LLaMA turns its queries "
        "and keys instead (rotary positions), and learns nothing for that",
        total - (2 * layers + 1) * h: "the norms are missing: two a layer and one at the end",
        total - h: "the last norm is missing, the one after all layers",
        total - 2 * layers * h: "the two norms of each layer are missing",
        total - layers * mlp: "the MLP of a LLaMA has three matrices: gate, up and down",
        total - (layers - 1) * parameters(model).layer: "only one layer is counted",
        total + layers * 2 * h * (h - model.kv_width): "K and V have fewer heads than Q here: "
        "their matrices are h x kv",
        total + (2 * layers + 1) * h: "a norm of a LLaMA has h weights: a scale, and no shift",
    }
    if model.tied:
        wrong[total + table] = "the output matrix is the word embedding again (tied): count it once"
    else:
        wrong[total - table] = "the output matrix is missing: it is not tied to the embedding"
    return total, wrong


def operations(model):
    found = flops(model)
    right, scores = found.layer / 1e12, found.scores / 1e12
    wide = 4 * model.positions * model.hidden * (model.hidden - model.kv_width) / 1e12 * 2
    return right, {
        right / 2: "a product takes 2mnk operations: each weight is multiplied and added",
        right * model.layers: "one layer is asked for, and these are all layers",
        right * 3: "the forward pass alone is asked for, and the backward pass is in it",
        right - scores: "the attention scores, and their product with V, are missing",
        right - scores / 2: "the scores and their product with V both take 2 s s h: one of the "
        "two is missing, or half of the scores is left out (causal), and all are asked for",
        right + found.logits / 1e12: "the output matrix is in it, and one layer is asked for",
        right + wide: "K and V have fewer heads than Q here",
        right * 1e12: "these are operations, not TFLOPs: divide by 1e12",
        right / model.positions: "this is for one token, and the sequence has more",
    }


def memory(model):
    peak = forward_peak(model)
    right, weights = peak.total / 1e9, peak.weights / 1e9
    h, s, kv, scores = model.hidden, model.positions, model.kv_width, model.heads * model.positions
    after_softmax = 2 * s * (3 * h + 2 * kv + 2 * scores) / 1e9
    at_the_end = 2 * s * (8 * h + 2 * kv + scores + 4 * model.intermediate) / 1e9
    larger = "the larger of the two moments counts, and this is the smaller"
    return right, {
        weights + after_softmax: f"just after softmax is not the peak here: {larger}",
        weights + at_the_end: f"the end of the layer is not the peak here: {larger}",
        right - weights: "the weights of the layer are missing",
        weights: "the activations are missing: only the weights are there",
        2 * right: "this is for 4 bytes a value; fp16 has 2",
        right / 2: "a value in fp16 has 2 bytes, and this counts 1",
        right * 1e9 / 2**30: "these are GiB (2^30 bytes), and GB (1e9 bytes) are asked for",
        right * 1e9: "these are bytes, and GB are asked for: divide by 1e9",
        right - 2 * s * scores / 1e9: "the scores before softmax and after it both live at the "
        "peak: one of the two is missing",
        right + (model.layers - 1) * weights: "one layer is asked for, and the weights of all "
        "layers are in it",
        weights + after_softmax + at_the_end: "the two moments are not at the same time: take "
        "the larger, not the sum",
    }
