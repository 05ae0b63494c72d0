"""Wrong ways to do PZ-P0, each to be caught with words of its own."""

from pathlib import Path

from helpers.grade import PlantedMistake
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_mistakes_pz")

MISTAKES = (
    PlantedMistake(
        "the demo of the lab: adds the reduced gradient to the local one",
        pz.changed(
            "PZ-P0",
            (
                "        grad_weights[layer] = grad_weights[layer] + grad if layer "
                "in grad_weights else grad\n"
                "    del grad, grad_activations[-1]",
                "        grad_weights[layer] = grad_weights[layer] + grad if layer "
                "in grad_weights else grad\n"
                "    for layer in range(model.num_layers):\n"
                "        grad_weights[layer] += await "
                "model.all_reduce(grad_weights[layer], layer)\n"
                "    del grad, grad_activations[-1]",
            ),
        ),
        says="would count twice in the gradient of layer 0",
    ),
    PlantedMistake(
        "reduces after every micro-batch",
        pz.changed(
            "PZ-P0",
            (
                "        grad_weights[layer] = grad_weights[layer] + grad if layer "
                "in grad_weights else grad\n",
                "        grad = await model.all_reduce(grad, layer)\n"
                "        grad_weights[layer] = grad_weights[layer] + grad if layer "
                "in grad_weights else grad\n",
            ),
            (
                "    grad_weights[layer] = await model.all_reduce(grad_weights[layer], layer)\n",
                "",
            ),
        ),
        says="are enough: reduce each layer once, after all micro-batches",
    ),
    PlantedMistake(
        "only the last micro-batch",
        pz.changed(
            "PZ-P0",
            (
                "grad_weights[layer] + grad if layer in grad_weights else grad",
                "grad",
            ),
        ),
        says="are missing in the gradient",
    ),
    PlantedMistake(
        "no all_reduce",
        pz.without("PZ-P0", "await model.all_reduce"),
        says="samples 4 to 31 are missing in the gradient",
    ),
    PlantedMistake(
        "keeps all activations",
        pz.changed(
            "PZ-P0",
            (
                "        del activations[layer], grad_activations[layer]\n",
                "        activations[layer, samples[0]] = activations[layer]\n",
            ),
        ),
        says="are enough: keep the activations of one micro-batch at a time",
    ),
)
