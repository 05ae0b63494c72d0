"""Wrong ways to do PZ-8, each to be caught with words of its own."""

from pathlib import Path

from helpers.grade import PlantedMistake
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_mistakes_pz")

MISTAKES = (
    PlantedMistake(
        "collectives of one's own layers alone",
        pz.changed(
            "PZ-8",
            (
                "for layer in layers:\n    if layer == first and stage > 0:",
                "for layer in mine:\n    if layer == first and stage > 0:",
            ),
        ),
        says="none of them can go first",
    ),
    PlantedMistake(
        "no gradient, no call",
        pz.changed(
            "PZ-8",
            (
                "        grad_weights[layer] = model.empty_grad(layer)",
                "        continue",
            ),
        ),
        says="all ranks must call the same ones in the same order",
    ),
    PlantedMistake(
        "receives too late",
        pz.changed(
            "PZ-8",
            (
                "    if layer == first and stage > 0:\n"
                "        activations[first] = await model.receive(rank - 1)\n",
                "    await model.receive(rank - 1) if layer > last and stage > 0 else None\n",
            ),
        ),
        says="rank 1 has no activations[1]: nothing was put there",
    ),
    PlantedMistake(
        "keeps the whole weights",
        pz.changed(
            "PZ-8",
            (
                "        del activations[layer], grad_activations[layer]\n    else:",
                "        del activations[layer], grad_activations[layer]\n"
                '        weights[layer, 9] = weights["whole"]\n'
                "    else:",
            ),
            (
                "    if layer == last and stage < stages - 1:\n        await model.send(rank + 1",
                "    weights[layer, 8] = await model.all_gather(weights[layer], layer)\n"
                "    if layer == last and stage < stages - 1:\n"
                "        await model.send(rank + 1",
            ),
        ),
        says="are enough: gather and reduce each layer once",
    ),
)
