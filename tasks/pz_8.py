"""PZ-8: pipeline and fully sharded weights together."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    title="a pipeline whose layers are sharded over all ranks",
    file="puzzles/eight.py",
    function="pipeline_sharded",
    lesson="training_puzzles",
    kind="prize",
    minutes=45,
    hints=(
        "Two things at once: messages within a pipeline, and collectives of all ranks. All "
        "ranks must call the same collectives in the same order, also for layers that are not "
        "theirs. What do they bring to a reduce_scatter then?",
        "Loop over all layers on every rank: gather the layer; only if it is mine, forward. "
        "The receive comes before the gather of my first layer, the send after my last one. "
        "model.empty_grad(layer) is a gradient of zeros.",
        "for layer in range(model.num_layers): receive if layer is my first and stage > 0; "
        "gather; forward if mine; drop the whole weight; send if layer is my last and stage < "
        "3. Loss on the last stage. The same loop in reverse: receive, gather, backward or "
        "empty_grad, reduce_scatter, send. Then update my shard of every layer.",
    ),
)
observe = _pz.observing(TASK.function)
name = _pz.name
cases, enough = _pz.listed({(16, 4, 4): (16, 966_656)}, profile="steps")
passed = _pz.star(enough)
explain = _pz.judge(
    enough,
    slow="gather and reduce each layer once each way, and let the pipelines work side by side",
    large="drop the whole weight after each layer, and shard the gradient at once",
)
