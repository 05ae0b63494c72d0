"""The eight puzzles: from one rank to a pipeline of sharded layers.

Each function is one training step of one rank, and returns its model. The cluster of each stands
in CASES. `python eight.py` runs them all by the rules of the LLM Training Puzzles, from which the
cases come (https://github.com/srush/LLM-Training-Puzzles): a forward or a backward takes 1 step a
sample, an update 0.5, a collective 0.3, a message 0.2 at each of its two ends.

Keep what a rank holds in the five dictionaries of model.storage(): there its memory counts.
activations[l] is the input of layer l, grad_activations[l] the gradient of the output of layer l:
so backward of layer 0 returns grad_activations[-1], which nobody needs. What `model` can do is
listed in cluster/model.py, in the class `Model`. After `basic` you may leave the first and the last
loop to model.load_all(layers) and model.update_all(layers).
"""

from lib import Model
from utils import get_layers, main_of_puzzles

# name: (ranks, layers, samples, target for the steps, target for the memory)
CASES = {
    "basic": (1, 2, 4, 17, 2_621_440),
    "accumulation": (1, 2, 4, 17, 1_966_080),
    "ddp": (4, 2, 4, 5.6, 1_835_008),
    "weight_sharded": (4, 6, 4, 20.4, 2_752_512),
    "fully_sharded": (4, 6, 4, 20.4, 2_359_296),
    "pipeline": (4, 8, 4, 67.4, 3_145_728),
    "gpipe": (4, 8, 4, 33.8, 4_194_304),
    "pipeline_sharded": (16, 4, 4, 16, 966_656),
}


async def basic(model: Model) -> Model:
    """One rank and the whole batch at once: forward, loss, backward, update."""
    weights, opt_states, activations, grad_activations, grad_weights = model.storage()
    layers, last = range(model.num_layers), model.num_layers - 1
    # BEGIN SOLUTION PZ-1
    for layer in layers:
        weights[layer], opt_states[layer] = model.load_weights(layer)
    activations[0] = model.get_input_activation(range(model.global_batch_size))
    for layer in layers:
        activations[layer + 1] = model.forward(layer, activations[layer], weights[layer])
    grad_activations[last] = model.loss(activations[last + 1])
    del activations[last + 1]
    for layer in reversed(layers):
        grad_weights[layer], grad_activations[layer - 1] = model.backward(
            layer, activations[layer], grad_activations[layer], weights[layer]
        )
        del activations[layer], grad_activations[layer]
    del grad_activations[-1]
    for layer in layers:
        new, _ = model.update(layer, grad_weights[layer], weights[layer], opt_states[layer])
        model.set_final_weight(layer, new)
    # END SOLUTION
    return model


async def accumulation(model: Model) -> Model:
    """One rank and one sample at a time: the gradients are added up, and there is one update."""
    weights, opt_states, activations, grad_activations, grad_weights = model.storage()
    layers, last = range(model.num_layers), model.num_layers - 1
    # BEGIN SOLUTION PZ-2
    model.load_all(layers)
    for sample in range(model.global_batch_size):
        activations[0] = model.get_input_activation([sample])
        for layer in layers:
            activations[layer + 1] = model.forward(layer, activations[layer], weights[layer])
        grad_activations[last] = model.loss(activations[last + 1])
        del activations[last + 1]
        for layer in reversed(layers):
            grad, grad_activations[layer - 1] = model.backward(
                layer, activations[layer], grad_activations[layer], weights[layer]
            )
            del activations[layer], grad_activations[layer]
            grad_weights[layer] = grad_weights[layer] + grad if sample > 0 else grad
        del grad_activations[-1]
    model.update_all(layers)
    # END SOLUTION
    return model


async def ddp(model: Model) -> Model:
    """Each rank has all weights and one sample; the gradients are summed over the ranks."""
    weights, opt_states, activations, grad_activations, grad_weights = model.storage()
    layers, last = range(model.num_layers), model.num_layers - 1
    # BEGIN SOLUTION PZ-3
    model.load_all(layers)
    activations[0] = model.get_input_activation([model.rank])
    for layer in layers:
        activations[layer + 1] = model.forward(layer, activations[layer], weights[layer])
    grad_activations[last] = model.loss(activations[last + 1])
    del activations[last + 1]
    for layer in reversed(layers):
        grad_weights[layer], grad_activations[layer - 1] = model.backward(
            layer, activations[layer], grad_activations[layer], weights[layer]
        )
        del activations[layer], grad_activations[layer]
        grad_weights[layer] = await model.all_reduce(grad_weights[layer], layer)
    del grad_activations[-1]
    model.update_all(layers)
    # END SOLUTION
    return model


async def weight_sharded(model: Model) -> Model:
    """Each rank keeps one shard of every weight; layers are gathered where they are needed."""
    weights, opt_states, activations, grad_activations, grad_weights = model.storage()
    layers, last = range(model.num_layers), model.num_layers - 1
    # BEGIN SOLUTION PZ-4
    model.load_all(layers, model.rank, model.world_size)
    activations[0] = model.get_input_activation([model.rank])
    for layer in layers:
        weights["whole"] = await model.all_gather(weights[layer], layer)
        activations[layer + 1] = model.forward(layer, activations[layer], weights["whole"])
        del weights["whole"]
    grad_activations[last] = model.loss(activations[last + 1])
    del activations[last + 1]
    for layer in reversed(layers):
        weights["whole"] = await model.all_gather(weights[layer], layer)
        grad_weights[layer], grad_activations[layer - 1] = model.backward(
            layer, activations[layer], grad_activations[layer], weights["whole"]
        )
        del weights["whole"], activations[layer], grad_activations[layer]
    del grad_activations[-1]
    for layer in layers:
        grad_weights[layer] = await model.all_reduce(grad_weights[layer], layer)
    model.update_all(layers)
    # END SOLUTION
    return model


async def fully_sharded(model: Model) -> Model:
    """As before, and each rank keeps only its shard of the summed gradient."""
    weights, opt_states, activations, grad_activations, grad_weights = model.storage()
    layers, last = range(model.num_layers), model.num_layers - 1
    # BEGIN SOLUTION PZ-5
    model.load_all(layers, model.rank, model.world_size)
    activations[0] = model.get_input_activation([model.rank])
    for layer in layers:
        weights["whole"] = await model.all_gather(weights[layer], layer)
        activations[layer + 1] = model.forward(layer, activations[layer], weights["whole"])
        del weights["whole"]
    grad_activations[last] = model.loss(activations[last + 1])
    del activations[last + 1]
    for layer in reversed(layers):
        weights["whole"] = await model.all_gather(weights[layer], layer)
        grad_weights[layer], grad_activations[layer - 1] = model.backward(
            layer, activations[layer], grad_activations[layer], weights["whole"]
        )
        del weights["whole"], activations[layer], grad_activations[layer]
        grad_weights[layer] = await model.reduce_scatter(grad_weights[layer], layer)
    del grad_activations[-1]
    model.update_all(layers)
    # END SOLUTION
    return model


async def pipeline(model: Model) -> Model:
    """Each rank has some of the layers, and the whole batch goes from rank to rank."""
    weights, opt_states, activations, grad_activations, grad_weights = model.storage()
    rank, end_rank = model.rank, model.world_size - 1
    mine = get_layers(model.num_layers, model.world_size, rank)
    # BEGIN SOLUTION PZ-6
    first, after = mine[0], mine[-1] + 1
    model.load_all(mine)
    if rank == 0:
        activations[0] = model.get_input_activation(range(model.global_batch_size))
    else:
        activations[first] = await model.receive(rank - 1)
    for layer in mine:
        activations[layer + 1] = model.forward(layer, activations[layer], weights[layer])
    if rank == end_rank:
        grad_activations[after - 1] = model.loss(activations[after])
    else:
        await model.send(rank + 1, activations[after])
        grad_activations[after - 1] = await model.receive(rank + 1)
    del activations[after]
    for layer in reversed(mine):
        grad_weights[layer], grad_activations[layer - 1] = model.backward(
            layer, activations[layer], grad_activations[layer], weights[layer]
        )
        del activations[layer], grad_activations[layer]
    if rank > 0:
        await model.send(rank - 1, grad_activations[first - 1])
    del grad_activations[first - 1]
    model.update_all(mine)
    # END SOLUTION
    return model


async def gpipe(model: Model) -> Model:
    """The same pipeline, one sample after the other: all forward, then all backward."""
    weights, opt_states, activations, grad_activations, grad_weights = model.storage()
    rank, end_rank = model.rank, model.world_size - 1
    mine = get_layers(model.num_layers, model.world_size, rank)
    # BEGIN SOLUTION PZ-7
    first, after = mine[0], mine[-1] + 1
    model.load_all(mine)
    for sample in range(model.global_batch_size):
        if rank == 0:
            activations[0, sample] = model.get_input_activation([sample])
        else:
            activations[first, sample] = await model.receive(rank - 1)
        for layer in mine:
            here = activations[layer, sample]
            activations[layer + 1, sample] = model.forward(layer, here, weights[layer])
        if rank < end_rank:
            await model.send(rank + 1, activations.pop((after, sample)))
    for sample in range(model.global_batch_size):
        if rank == end_rank:
            grad_activations[after - 1] = model.loss(activations[after, sample])
            del activations[after, sample]
        else:
            grad_activations[after - 1] = await model.receive(rank + 1)
        for layer in reversed(mine):
            here = activations[layer, sample]
            grad, grad_activations[layer - 1] = model.backward(
                layer, here, grad_activations[layer], weights[layer]
            )
            del here, activations[layer, sample], grad_activations[layer]
            grad_weights[layer] = grad_weights[layer] + grad if sample > 0 else grad
        if rank > 0:
            await model.send(rank - 1, grad_activations.pop(first - 1))
    model.update_all(mine)
    # END SOLUTION
    return model


async def pipeline_sharded(model: Model) -> Model:
    """Four pipelines of four stages, and every layer sharded over all sixteen ranks.

    Rank r is stage r % 4 of pipeline r // 4, and each pipeline takes one sample. All ranks take
    part in every collective: model.empty_grad(layer) is what a rank adds that has no gradient.
    """
    weights, opt_states, activations, grad_activations, grad_weights = model.storage()
    rank, stages = model.rank, 4
    stage, sample = rank % stages, rank // stages
    layers, mine = range(model.num_layers), get_layers(model.num_layers, stages, stage)
    # BEGIN SOLUTION PZ-8
    first, last = mine[0], mine[-1]
    model.load_all(layers, rank, model.world_size)
    if stage == 0:
        activations[0] = model.get_input_activation([sample])
    for layer in layers:
        if layer == first and stage > 0:
            activations[first] = await model.receive(rank - 1)
        weights["whole"] = await model.all_gather(weights[layer], layer)
        if layer in mine:
            activations[layer + 1] = model.forward(layer, activations[layer], weights["whole"])
        del weights["whole"]
        if layer == last and stage < stages - 1:
            await model.send(rank + 1, activations.pop(layer + 1))
    if stage == stages - 1:
        grad_activations[last] = model.loss(activations[last + 1])
        del activations[last + 1]
    for layer in reversed(layers):
        if layer == last and stage < stages - 1:
            grad_activations[last] = await model.receive(rank + 1)
        weights["whole"] = await model.all_gather(weights[layer], layer)
        if layer in mine:
            grad_weights[layer], grad_activations[layer - 1] = model.backward(
                layer, activations[layer], grad_activations[layer], weights["whole"]
            )
            del activations[layer], grad_activations[layer]
        else:
            grad_weights[layer] = model.empty_grad(layer)
        del weights["whole"]
        grad_weights[layer] = await model.reduce_scatter(grad_weights[layer], layer)
        if layer == first and stage > 0:
            await model.send(rank - 1, grad_activations.pop(first - 1))
    model.update_all(layers)
    # END SOLUTION
    return model


if __name__ == "__main__":
    main_of_puzzles(globals(), CASES)
