"""PZ-1 as whole programs."""

from helpers.grade.task import Program
from tasks.programs import _pz

PROGRAMS = (
    Program(
        "forgets the update",
        _pz.changed(
            "PZ-1",
            (
                "new, _ = model.update(layer, grad_weights[layer], weights[layer], "
                "opt_states[layer])",
                "new = weights[layer]",
            ),
        ),
        says="is the old one, of step 0: hand in what update gave",
    ),
)
