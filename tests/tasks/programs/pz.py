"""Work in place of the solutions of PZ: what the check must name, and what it must pass."""

FREE = "    del grad, grad_activations[-1]"
ALL_REDUCE = "await model.all_reduce(grad_weights[layer], layer)"
UPDATE = "    weights[layer], opt_states[layer] = model.update("
SUM_UP = "await model.reduce_scatter(grad_weights[layer], layer)"
LOSS = "grad_activations[last] = model.loss"
LOAD = ":\n    weights[layer], opt_states"
RECEIVES = ":\n    if layer == first and stage > 0:"

PROGRAMS = {
    "PZ-1": {
        "forgets the update":
            ({"set_final_weight(layer, new)": "set_final_weight(layer, weights[layer])"},
             "is the old one, of step 0: hand in what update gave")},
    "PZ-2": {
        "only the last sample":
            ({"grad_weights[layer] + grad if sample > 0 else grad": "grad"},
             "samples 0 to 2 are missing in the gradient")},
    "PZ-3": {
        "only rank 0 updates":
            ({"    new, _": "    if model.rank:\n        return model\n    new, _"},
             "its copy is stale, and would spoil the next step")},
    "PZ-4": {
        "the same shard on every rank":
            ({"layer, model.rank, model.world_size": "layer, 0, model.world_size"},
             "it needs the whole weight, and got the weight of layer 0, shard 0 of 4")},
    "PZ-5": {
        "gathers three times":
            ({LOSS: f'weights["whole"] = await model.all_gather(weights[last], last)\n{LOSS}'},
             "it takes 20.7 steps, and 20.4 are enough: a layer is gathered twice")},
    "PZ-6": {
        "loads everything":
            ({f"mine{LOAD}": f"range(model.num_layers){LOAD}"}, "its copy is stale")},
    "PZ-7": {
        "samples back in two orders":
            ({"after, sample])\n        del activations[after, sample]": "after, 3 - sample])"},
             "the activation is for sample 0, and the gradient for sample 3: "
             "they must be the same")},
    "PZ-8": {
        "collectives of one's own layers alone":
            ({f"layers{RECEIVES}": f"mine{RECEIVES}"}, "none of them can go first")},
    "PZ-P0": {
        # met: the CS 8803 SMR lab's own demo, which fails with two micro-batches a rank
        "the demo of the lab: adds the reduced gradient to the local one":
            ({FREE:
                  "    for layer in range(model.num_layers):\n"
                  f"        grad_weights[layer] += {ALL_REDUCE}\n{FREE}"},
             "would count twice in the gradient of layer 0")},
    "PZ-P1": {
        "whole gradients":
            ({"        grad = await model.reduce_scatter(grad, layer)\n": "",
              UPDATE: f"    grad_weights[layer] = {SUM_UP}\n{UPDATE}"},
             "are enough: keep one whole weight and one whole gradient at a time")},
    "PZ-P2": {
        "the last rank is always the last stage":
            ({"after == model.num_layers": "rank == model.world_size - 1"}, "waits for rank 2")},
    "PZ-P3": {
        "GPipe":
            ({"min(stages - rank - 1, len(batches))": "len(batches)"},
             "are enough: after the warm-up each forward is followed by a backward")},
    "PZ-P4": {
        # met: submissions to that lab, one of them with 139,268 % MFU
        "gradients that claim all samples":
            ({"grad_weights.pop(layer)":
                  '__import__("lib").WeightGrad(layer, last + 1, range(samples), samples)'},
             "was built by hand, and nobody has computed it")},
    "PZ-P5": {
        "gradients that claim all samples":
            ({"reduce_scatter(gradient)":
                  "reduce_scatter(__import__('lib').WeightGrad(layer, model.num_layers, "
                  "range(model.global_batch_size), model.global_batch_size))"},
             "was built by hand, and nobody has computed it"),
        "activations from nothing, in place of computing them again":
            ({"    out = model.forward(layer, activations[layer, number], weight)":
                  "    from lib import Activation\n"
                  "    out = Activation(layer + 1, model.num_layers, batches[number], "
                  "model.global_batch_size)\n"
                  '    if op != "again":\n'
                  "        out = model.forward(layer, activations[layer, number], weight)"},
             "was built by hand, and nobody has computed it")},
}  # fmt: skip
