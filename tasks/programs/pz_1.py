"""PZ-1: a wrong step."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "forgets the update",
        {"set_final_weight(layer, new)": "set_final_weight(layer, weights[layer])"},
        says="is the old one, of step 0: hand in what update gave",
    ),
)
