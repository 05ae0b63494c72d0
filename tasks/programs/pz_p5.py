"""PZ-P5: steps that cheat."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "gradients that claim all samples",
        {
            "reduce_scatter(gradient)": (
                "reduce_scatter(__import__('lib').WeightGrad(layer, model.num_layers, "
                "range(model.global_batch_size), model.global_batch_size))"
            )
        },
        says="was built by hand, and nobody has computed it",
    ),
    Program(
        "activations from nothing, in place of computing them again",
        {
            "    out = model.forward(layer, activations[layer, number], weight)": (
                "    from lib import Activation\n"
                "    out = Activation(layer + 1, model.num_layers, batches[number], "
                "model.global_batch_size)\n"
                '    if op != "again":\n'
                "        out = model.forward(layer, activations[layer, number], weight)"
            )
        },
        says="was built by hand, and nobody has computed it",
    ),
)
