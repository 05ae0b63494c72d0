"""Wrong ways to do PZ-5, each to be caught with words of its own."""

from pathlib import Path

from helpers.grade import PlantedMistake
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_mistakes_pz")

MISTAKES = (
    PlantedMistake(
        "reduces at the end",
        pz.changed(
            "PZ-5",
            (
                "    grad_weights[layer] = await "
                "model.reduce_scatter(grad_weights[layer], layer)\n",
                "",
            ),
            (
                "    new, _",
                "    grad_weights[layer] = await "
                "model.reduce_scatter(grad_weights[layer], layer)\n"
                "    new, _",
            ),
        ),
        says="are enough: cut the gradient of a layer into shards right after its backward",
    ),
    PlantedMistake(
        "all_reduce",
        pz.changed(
            "PZ-5",
            (
                "model.reduce_scatter",
                "model.all_reduce",
            ),
        ),
        says="are enough: cut the gradient of a layer into shards right after its backward",
    ),
    PlantedMistake(
        "gathers three times",
        pz.changed(
            "PZ-5",
            (
                "grad_activations[last] = model.loss",
                'weights["whole"] = await model.all_gather(weights[last], last)\n'
                "grad_activations[last] = model.loss",
            ),
        ),
        says="it takes 20.7 steps, and 20.4 are enough: a layer is gathered twice",
    ),
    PlantedMistake(
        "another shard",
        pz.changed(
            "PZ-5",
            (
                "    new, _",
                "    weights[layer], opt_states[layer] = model.load_weights(\n"
                "        layer, (model.rank + 1) % model.world_size, model.world_size\n"
                "    )\n"
                "    new, _",
            ),
        ),
        says="needs more than the weight gradient of layer 0, shard",
    ),
)
