"""Wrong ways to do PZ-2, each to be caught with words of its own."""

from pathlib import Path

from helpers.grade import PlantedMistake
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_mistakes_pz")

MISTAKES = (
    PlantedMistake(
        "the whole batch at once",
        pz.solution("PZ-1"),
        says="and 1,966,080 are enough: take one sample at a time",
    ),
    PlantedMistake(
        "only the last sample",
        pz.changed(
            "PZ-2",
            (
                "grad_weights[layer] + grad if sample > 0 else grad",
                "grad",
            ),
        ),
        says="samples 0 to 2 are missing in the gradient",
    ),
    PlantedMistake(
        "the same sample each time",
        pz.changed(
            "PZ-2",
            (
                "get_input_activation([sample])",
                "get_input_activation([0])",
            ),
        ),
        says="sample 0 would count twice in the gradient of layer 1",
    ),
    PlantedMistake(
        "keeps every gradient",
        pz.changed(
            "PZ-2",
            (
                'grad = grad_weights.pop("new")',
                'grad = grad_weights[layer, sample] = grad_weights.pop("new")',
            ),
        ),
        says="are enough: take one sample at a time, and keep the sum of the gradients alone",
    ),
)
