"""Wrong ways to do PZ-3, each to be caught with words of its own."""

from pathlib import Path

from helpers.grade import PlantedMistake
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_mistakes_pz")

MISTAKES = (
    PlantedMistake(
        "no all_reduce",
        pz.without("PZ-3", "await model.all_reduce"),
        says="update of layer 0: samples 1 to 3 are missing in the gradient",
    ),
    PlantedMistake(
        "every rank takes the whole batch",
        pz.changed(
            "PZ-3",
            (
                "[model.rank]",
                "range(model.global_batch_size)",
            ),
        ),
        says="with what rank 1 brings: samples 0 to 3 would count twice",
    ),
    PlantedMistake(
        "adds the sum to its own",
        pz.changed(
            "PZ-3",
            (
                "grad_weights[layer] = await model.all_reduce(grad_weights[layer], layer)",
                "grad_weights[layer] = grad_weights[layer] + await "
                "model.all_reduce(grad_weights[layer], layer)",
            ),
        ),
        says="would count twice in the gradient of layer 1",
    ),
    PlantedMistake(
        "reduces in two orders",
        pz.changed(
            "PZ-3",
            (
                "    del activations[layer], grad_activations[layer]\n"
                "    grad_weights[layer] = await "
                "model.all_reduce(grad_weights[layer], layer)\n",
                "    del activations[layer], grad_activations[layer]\n"
                "for layer in (range(model.num_layers) if model.rank else "
                "reversed(range(model.num_layers))):\n"
                "    grad_weights[layer] = await "
                "model.all_reduce(grad_weights[layer], layer)\n",
            ),
        ),
        says="all ranks must call the same ones in the same order",
    ),
    PlantedMistake(
        "rank 0 alone",
        pz.changed(
            "PZ-3",
            (
                "activations[0] =",
                "if model.rank:\n    return model\nactivations[0] =",
            ),
        ),
        says="deadlock: rank 0 waits for ranks 1, 2 and 3",
    ),
    PlantedMistake(
        "only rank 0 updates",
        pz.changed(
            "PZ-3",
            (
                "    new, _",
                "    if model.rank:\n        return model\n    new, _",
            ),
        ),
        says="its copy is stale, and would spoil the next step",
    ),
    PlantedMistake(
        "waits for nothing",
        pz.changed(
            "PZ-3",
            (
                "= await model.all_reduce",
                "= model.all_reduce",
            ),
        ),
        says="write await before the call",
    ),
)

ALSO_RIGHT = {
    "reduced after all backwards": pz.changed(
        "PZ-3",
        ("    grad_weights[layer] = await model.all_reduce(grad_weights[layer], layer)\n", ""),
        (
            "    new, _",
            "    grad_weights[layer] = await model.all_reduce(grad_weights[layer], layer)\n"
            "    new, _",
        ),
    ),
    "shards at the end": pz.changed(
        "PZ-3",
        ("await model.all_reduce(", "await model.reduce_scatter("),
        (
            "    new, _ = model.update(layer, grad_weights[layer], weights[layer], "
            "opt_states[layer])",
            "    part = model.rank, model.world_size\n"
            "    weights[layer] = weights[layer].shard(*part)\n"
            "    opt_states[layer] = opt_states[layer].shard(*part)\n"
            "    new, _ = model.update(layer, grad_weights[layer], weights[layer], "
            "opt_states[layer])",
        ),
    ),
}
