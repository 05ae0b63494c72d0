"""PZ-5 as whole programs."""

from helpers.grade.task import Program
from tasks.programs import _pz

PROGRAMS = (
    Program(
        "gathers three times",
        _pz.changed(
            "PZ-5",
            (
                "grad_activations[last] = model.loss",
                'weights["whole"] = await model.all_gather(weights[last], last)\n'
                "grad_activations[last] = model.loss",
            ),
        ),
        says="it takes 20.7 steps, and 20.4 are enough: a layer is gathered twice",
    ),
)
