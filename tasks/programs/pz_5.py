"""PZ-5: a slow step."""

from helpers.grade.task import Program

LOSS = "grad_activations[last] = model.loss"

PROGRAMS = (
    Program(
        "gathers three times",
        {LOSS: f'weights["whole"] = await model.all_gather(weights[last], last)\n{LOSS}'},
        says="it takes 20.7 steps, and 20.4 are enough: a layer is gathered twice",
    ),
)
