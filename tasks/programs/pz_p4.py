"""PZ-P4 as whole programs."""

from helpers.grade.task import Program
from tasks.programs import _pz

PROGRAMS = (
    Program(
        "gradients that claim all samples",
        _pz.changed(
            "PZ-P4",
            (
                "started[layer] = model.reduce_scatter(grad_weights.pop(layer), layer)",
                "from lib import WeightGrad\n"
                "            grad = WeightGrad(layer, last + 1, range(samples), samples)\n"
                "            started[layer] = model.reduce_scatter(grad, layer)",
            ),
        ),
        says="was built by hand, and nobody has computed it",
        met="submissions to that lab, one of them with 139,268 % MFU",
    ),
)
