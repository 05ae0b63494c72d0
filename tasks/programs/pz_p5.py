"""PZ-P5 as whole programs."""

from helpers.grade.task import Program
from tasks.programs import _pz

PROGRAMS = (
    Program(
        "gradients that claim all samples",
        _pz.changed(
            "PZ-P5",
            (
                "reducing.append((layer, group.reduce_scatter(gradient)))",
                "from lib import WeightGrad\n"
                "        whole = range(model.global_batch_size)\n"
                "        forged = WeightGrad(layer, model.num_layers, whole, len(whole))\n"
                "        reducing.append((layer, group.reduce_scatter(forged)))",
            ),
        ),
        says="was built by hand, and nobody has computed it",
    ),
    Program(
        "activations from nothing, in place of computing them again",
        _pz.changed(
            "PZ-P5",
            (
                "out = model.forward(layer, activations[layer, number], weight)",
                "from lib import Activation\n"
                "    x = activations[layer, number]\n"
                "    out = Activation(layer + 1, model.num_layers, batches[number], "
                "model.global_batch_size)\n"
                '    out = out if op == "again" else model.forward(layer, x, weight)\n'
                "    del x",
            ),
        ),
        says="was built by hand, and nobody has computed it",
    ),
)
