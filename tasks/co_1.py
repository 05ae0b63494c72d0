"""CO-1: count the parameters, operations and bytes of a LLaMA by hand."""

import json
import tempfile
from pathlib import Path

from helpers.grade import Task

TASK = Task(
    id="CO-1",
    title="count what a LLaMA costs",
    file="TP/model_training_cost_analysis.py",
    function="model_training_cost_analysis",
    notebook="15",
    points=15,
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


def run(module, case):
    """One of the three numbers for a config.

    case: {"config": the fields of a config.json, "number": one of NAMES}.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(case["config"]), encoding="utf-8")
        answer = module.model_training_cost_analysis(str(path))
    if not isinstance(answer, tuple | list) or len(answer) != len(NAMES):
        return {"not three numbers": repr(answer)[:60]}
    return answer[NAMES.index(case["number"])]
