"""Part 3: 1F1B: the pipeline in micro-batches, one forward and one backward in turn.

Rank r of p stages takes p - r - 1 micro-batches forward to warm up; then each forward is followed
by the backward of the oldest micro-batch (Narayanan et al. 2021, arXiv 2104.04473). Where there are
more ranks than layers, the ranks after the last layer have nothing to do.
"""

from lib import Model
from utils import get_global_batch_list, get_layers, main_of_part


async def part3_training_loop(model: Model, batch_size: int) -> Model:
    """One step. batch_size: the samples of a micro-batch."""
    weights, opt_states, activations, grad_activations, grad_weights = model.storage()
    rank, mine = model.rank, get_layers(model.num_layers, model.world_size, model.rank)
    if not mine:
        return model
    first, after = mine[0], mine[-1] + 1
    batches = get_global_batch_list(model.global_batch_size, batch_size)
    # BEGIN SOLUTION PZ-P3
    stages = min(model.world_size, model.num_layers)
    model.load_all(mine)

    async def forward(number):
        if rank == 0:
            activations[first, number] = model.get_input_activation(batches[number])
        else:
            activations[first, number] = await model.receive(rank - 1)
        for layer in mine:
            inp = activations[layer, number]
            activations[layer + 1, number] = model.forward(layer, inp, weights[layer])
        if rank < stages - 1:
            await model.send(rank + 1, activations[after, number])
            del activations[after, number]

    async def backward(number):
        if rank == stages - 1:
            grad_activations[after - 1] = model.loss(activations[after, number])
            del activations[after, number]
        else:
            grad_activations[after - 1] = await model.receive(rank + 1)
        for layer in reversed(mine):
            grad, grad_activations[layer - 1] = model.backward(
                layer, activations[layer, number], grad_activations[layer], weights[layer]
            )
            del activations[layer, number], grad_activations[layer]
            grad_weights[layer] = grad_weights[layer] + grad if layer in grad_weights else grad
        if rank > 0:
            await model.send(rank - 1, grad_activations[first - 1])
        del grad, grad_activations[first - 1]

    warm_up = min(stages - rank - 1, len(batches))
    for number in range(len(batches) + warm_up):
        if number < len(batches):
            await forward(number)
        if number >= warm_up:
            await backward(number - warm_up)
    model.update_all(mine)
    # END SOLUTION
    return model


if __name__ == "__main__":
    main_of_part(part3_training_loop, ranks=16, layers=32, batch=2048, micro_batch=128)
