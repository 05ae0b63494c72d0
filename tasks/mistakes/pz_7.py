"""Wrong ways to do PZ-7, each to be caught with words of its own."""

from pathlib import Path

from helpers.grade import PlantedMistake
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_mistakes_pz")

MISTAKES = (
    PlantedMistake(
        "one sample back before the next one",
        pz.solution("PZ-6"),
        says="and 33.8 are enough: a rank sends a sample on and takes the next one at once",
    ),
    PlantedMistake(
        "gradients replaced",
        pz.changed(
            "PZ-7",
            (
                "grad_weights[layer] + grad if sample > 0 else grad",
                "grad",
            ),
        ),
        says="samples 0 to 2 are missing in the gradient",
    ),
    PlantedMistake(
        "samples back in two orders",
        pz.changed(
            "PZ-7",
            ("after, sample])\n        del activations[after, sample]", "after, 3 - sample])"),
        ),
        says="the activation is for sample 0, and the gradient for sample 3: they must be the same",
    ),
    PlantedMistake(
        "keeps all activations",
        pz.changed(
            "PZ-7",
            (
                "        del here, activations[layer, sample], grad_activations[layer]",
                '        grad_weights[layer, sample] = grad_weights["new"]\n'
                "        grad_activations[layer, sample] = grad_activations.pop(layer)",
            ),
        ),
        says="are enough: delete the activations of a sample after its backward",
    ),
)
