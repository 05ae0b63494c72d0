"""PZ-3 as whole programs."""

from helpers.grade.task import Program
from tasks.programs import _pz

PROGRAMS = (
    Program(
        "only rank 0 updates",
        _pz.changed(
            "PZ-3",
            (
                "    new, _",
                "    if model.rank:\n        return model\n    new, _",
            ),
        ),
        says="its copy is stale, and would spoil the next step",
    ),
)

RIGHT = {
    "reduced after all backwards": _pz.changed(
        "PZ-3",
        ("    grad_weights[layer] = await model.all_reduce(grad_weights[layer], layer)\n", ""),
        (
            "    new, _",
            "    grad_weights[layer] = await model.all_reduce(grad_weights[layer], layer)\n"
            "    new, _",
        ),
    ),
    "shards at the end": _pz.changed(
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
