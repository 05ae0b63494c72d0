"""Part 2: the naive pipeline: each rank has some of the layers, and the whole batch passes through.

Where there are more ranks than layers, the ranks after the last layer have nothing to do.
"""

from lib import Model
from utils import get_layers, main_of_part


async def part2_training_loop(model: Model) -> Model:
    """One step."""
    weights, opt_states, activations, grad_activations, grad_weights = model.storage()
    rank, mine = model.rank, get_layers(model.num_layers, model.world_size, model.rank)
    if not mine:
        return model
    first, after = mine[0], mine[-1] + 1
    # BEGIN SOLUTION PZ-P2
    model.load_all(mine)
    if first == 0:
        activations[first] = model.get_input_activation(range(model.global_batch_size))
    else:
        activations[first] = await model.receive(rank - 1)
    for layer in mine:
        activations[layer + 1] = model.forward(layer, activations[layer], weights[layer])
    if after == model.num_layers:
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
    if first > 0:
        await model.send(rank - 1, grad_activations[first - 1])
    del grad_activations[first - 1]
    model.update_all(mine)
    # END SOLUTION
    return model


if __name__ == "__main__":
    main_of_part(part2_training_loop, ranks=4, layers=16, batch=2048)
