"""What a LLaMA costs, by hand; and the best model and text for a budget of operations.

python model_training_cost_analysis.py --model_config llama_7b_config.json
python model_training_cost_analysis.py --training_budget 1.23e22
"""

import argparse

from helpers.cost import EXERCISE, flops, forward_peak, read_config
from helpers.plain_errors import plain_errors
from helpers.words import bytes_text


def model_training_cost_analysis(path):
    """(parameters, TFLOPs, GB) of the LLaMA whose config.json is at `path`.

    parameters: of the whole model; rotary positions have none. The sizes are the fields of
        `model`, a helpers.cost.ModelConfig: layers, heads, vocabulary, tied and so on.
    TFLOPs: one layer forward, batch 1, the longest sequence s: matrix products at 2mnk, all s x s
        attention scores.
    GB (1e9 bytes): one layer forward in training, 2 bytes a value: its weights, and the tensors
        that live at the moment when most do. That is either just after softmax (alive: the
        layer's input, its norm, Q, K, V, the scores before and after softmax), or at the end:
        input, norm, Q, K, V, scores after softmax, context, first sum, its norm, gate, up,
        SiLU(gate), gate times up, the MLP's output, second sum.
    """
    model = read_config(path).require("llama")
    h, i, s, kv = model.hidden, model.intermediate, model.positions, model.kv_width
    # BEGIN SOLUTION CO-1
    matrices = 2 * h * h + 2 * h * kv + 3 * h * i
    layer = matrices + 2 * h
    tables = 1 if model.tied else 2
    parameters = model.layers * layer + h + tables * model.vocabulary * h
    operations = 2 * s * matrices + 2 * (2 * s * s * h)
    scores = model.heads * s
    after_softmax = 3 * h + 2 * kv + 2 * scores
    at_the_end = 8 * h + 2 * kv + scores + 4 * i
    memory = 2 * layer + 2 * s * max(after_softmax, at_the_end)
    return parameters, operations / 1e12, memory / 1e9
    # END SOLUTION


def get_optimal_N_D(budget):
    """(N, D): parameters and tokens with the lowest loss among all with 6 N D = budget.

    The loss is 406.4 / N^0.34 + 410.7 / D^0.29 + 1.69.
    """
    law, budget = EXERCISE, EXERCISE.checked(budget)
    ratio = law.alpha * law.a / (law.beta * law.b)
    n = (ratio * (budget / 6) ** law.beta) ** (1 / (law.alpha + law.beta))
    return n, budget / (6 * n)


def say_cost(path):
    parameters, tflops, gigabytes = model_training_cost_analysis(path)
    model = read_config(path)
    peak = forward_peak(model)
    print(f"Number of parameters: {parameters}\nNumber of TFLOPs: {tflops:.4f}")
    print(f"Peak memory cost: {gigabytes:.4f} GBs\n")
    print("parameters: rotary positions have no table, so no positional embedding is counted")
    print(f"TFLOPs: one layer forward, {flops(model).convention}")
    print(f"memory: one layer forward, {peak.convention}; most live at: {peak.moment}")
    for name, size in {"its weights": peak.weights, **peak.activations}.items():
        print(f"    {name:<20}{bytes_text(size):>9}")


if __name__ == "__main__":
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--model_config", metavar="PATH", help="a config.json")
    parser.add_argument("--training_budget", metavar="FLOPS", help="operations, as 1.23e22")
    args = parser.parse_args()
    if not args.model_config and not args.training_budget:
        parser.error("give --model_config PATH or --training_budget FLOPS")
    with plain_errors():
        if args.model_config:
            say_cost(args.model_config)
        if args.training_budget:
            n, d = get_optimal_N_D(args.training_budget)
            print(f"Optimal N: {n:.4g}\nOptimal D: {d:.4g}\n")
            print(f"loss {EXERCISE.loss(n, d):.3f}, {d / n:.1f} tokens a parameter; C = 6ND")
