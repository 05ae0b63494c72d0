"""Wrong ways to do PZ-P1, each to be caught with words of its own."""

from pathlib import Path

from helpers.grade import PlantedMistake
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_mistakes_pz")

MISTAKES = (
    PlantedMistake(
        "whole gradients",
        pz.changed(
            "PZ-P1",
            (
                "        grad = await model.reduce_scatter(grad, layer)\n",
                "",
            ),
            (
                "    weights[layer], opt_states[layer] = model.update(",
                "    grad_weights[layer] = await "
                "model.reduce_scatter(grad_weights[layer], layer)\n"
                "    weights[layer], opt_states[layer] = model.update(",
            ),
        ),
        says="are enough: keep one whole weight and one whole gradient at a time",
    ),
    PlantedMistake(
        "whole weights",
        pz.changed(
            "PZ-P1",
            (
                "model.load_weights(layer, rank, ranks)",
                "model.load_weights(layer)",
            ),
        ),
        says="needs more than the weight gradient",
    ),
    PlantedMistake(
        "the shard is replaced",
        pz.changed(
            "PZ-P1",
            (
                "grad_weights[layer] + grad if layer in grad_weights else grad",
                "grad",
            ),
        ),
        says="are missing in the gradient",
    ),
    PlantedMistake(
        "gathers twice as often",
        pz.changed(
            "PZ-P1",
            (
                '        del weights["whole"], activations[layer], grad_activations[layer]',
                '        del weights["whole"], activations[layer], grad_activations[layer]\n'
                "        await model.all_gather(weights[layer], layer)",
            ),
        ),
        says="are enough: gather twice and reduce once",
    ),
)
