"""Part 1: ZeRO, stage 3: weights, gradients and optimizer states are cut into shards.

Each rank keeps one shard of every layer. A layer is gathered just before it is used, and thrown
away after it; reduce_scatter leaves each rank its shard of the summed gradient (Rajbhandari et al.
2020, arXiv 1910.02054).
"""

from lib import Model
from utils import get_next_microbatch, main_of_part


async def part1_training_loop(model: Model, batch_size: int) -> Model:
    """One step. batch_size: the samples of a micro-batch."""
    weights, opt_states, activations, grad_activations, grad_weights = model.storage()
    layers, last = range(model.num_layers), model.num_layers - 1
    # BEGIN SOLUTION PZ-P1
    rank, ranks = model.rank, model.world_size
    model.load_all(layers, rank, ranks)
    for samples in get_next_microbatch(model.global_batch_size, ranks, batch_size, rank):
        activations[0] = model.get_input_activation(samples)
        for layer in layers:
            weights["whole"] = await model.all_gather(weights[layer], layer)
            activations[layer + 1] = model.forward(layer, activations[layer], weights["whole"])
            del weights["whole"]
        grad_activations[last] = model.loss(activations[last + 1])
        del activations[last + 1]
        for layer in reversed(layers):
            weights["whole"] = await model.all_gather(weights[layer], layer)
            grad, grad_activations[layer - 1] = model.backward(
                layer, activations[layer], grad_activations[layer], weights["whole"]
            )
            del weights["whole"], activations[layer], grad_activations[layer]
            grad = await model.reduce_scatter(grad, layer)
            grad_weights[layer] = grad_weights[layer] + grad if layer in grad_weights else grad
        del grad, grad_activations[-1]
    model.update_all(layers)
    # END SOLUTION
    return model


if __name__ == "__main__":
    main_of_part(part1_training_loop, ranks=32, layers=64, batch=256, micro_batch=8)
