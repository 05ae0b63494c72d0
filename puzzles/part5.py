"""Part 5, the boss: 109 billion parameters on 48 cards of 80 GB, in six nodes.

The profile is `measured`: layers of GPT-3's width, at the speeds that real A100s reach. No plain
strategy fits. Data parallelism keeps 16 bytes of every parameter on every card, and what remains
beside the shards of ZeRO or the layers of a pipeline is too little for the activations. The score
is the MFU, in percent. Think of: what may travel between the nodes, and what must stay inside one?
Which activations can be computed again (forward may be called twice for the same samples)? What can
be sent beside the computing? Do all stages have the same room?
"""

from itertools import pairwise

from lib import Model
from utils import get_layers, get_next_microbatch, main_of_part

NODE = 8  # ranks of a node share the fast network


async def part5_training_loop(model: Model, batch_size: int) -> Model:
    """One step. The number of ranks is a multiple of NODE. batch_size: samples of a micro-batch."""
    # BEGIN SOLUTION PZ-P5
    # A node is a stage of a 1F1B pipeline. Its ranks share the stage's layers as ZeRO-3 does, and
    # each sends its own samples through the pipeline. Early stages hold more micro-batches than
    # late ones, so they keep fewer activations of each and compute the others again.
    node = NODE
    (stage, lane), stages = divmod(model.rank, node), model.world_size // node
    mine = get_layers(model.num_layers, stages, stage)
    group = model.group(range(stage * node, stage * node + node))
    parts = {layer: model.load_weights(layer, lane, node) for layer in mine}
    batches = [*get_next_microbatch(model.global_batch_size, node, batch_size, lane)]
    warm_up = min(stages - 1 - stage, len(batches))
    keep = max(1, min(len(mine), 25 // ((warm_up + 1) * batch_size)))
    kept = {mine[i * len(mine) // keep] for i in range(keep)}

    back = []  # a micro-batch's backward, from one kept activation to the next
    for start, end in reversed([*pairwise([*sorted(kept), mine[-1] + 1])]):
        back += [("again", layer) for layer in range(start, end - 1)]
        back += [("backward", layer) for layer in reversed(range(start, end))]
    plan = []
    for number in range(len(batches) + warm_up):
        if number < len(batches):
            plan += [("forward", layer, number) for layer in mine]
        if number >= warm_up:
            plan += [(*step, number - warm_up) for step in back]

    activations, errors, gradients, reducing, sending = {}, {}, {}, [], []

    async def send(stage, value):
        if sending:
            await sending.pop()
        sending.append(model.send(stage * node + lane, value))

    async def reduced():
        layer, pending = reducing.pop()
        gradient = await pending
        gradients[layer] = gradients[layer] + gradient if layer in gradients else gradient

    gathering = group.all_gather(parts[mine[0]][0])
    for place, (op, layer, number) in enumerate(plan):
        weight = await gathering
        if place + 1 < len(plan):  # the next layer's weights arrive beside this one's computing
            gathering = group.all_gather(parts[plan[place + 1][1]][0])
        if op == "backward":
            if layer == mine[-1] and stage < stages - 1:
                errors[layer] = await model.receive(model.rank + node)
            x, error = activations.pop((layer, number)), errors.pop(layer)
            gradient, errors[layer - 1] = model.backward(layer, x, error, weight)
            if reducing:
                await reduced()
            reducing.append((layer, group.reduce_scatter(gradient)))
            del x, error, gradient
            if layer == mine[0] and stage > 0:
                await send(stage - 1, errors.pop(layer - 1))
            continue
        if op == "forward" and layer == mine[0]:
            if stage:
                activations[layer, number] = await model.receive(model.rank - node)
            else:
                activations[layer, number] = model.get_input_activation(batches[number])
        out = model.forward(layer, activations[layer, number], weight)
        if op == "forward" and layer not in kept:
            del activations[layer, number]
        if op == "again" or layer < mine[-1]:
            activations[layer + 1, number] = out
        elif stage < stages - 1:
            await send(stage + 1, out)
        else:
            errors[layer] = model.loss(out)
        del out
    del weight
    await reduced()
    if sending:
        await sending.pop()
    for layer in mine:
        weight, _ = model.update(layer, gradients.pop(layer), *parts.pop(layer))
        model.set_final_weight(layer, weight)
    # END SOLUTION
    return model


if __name__ == "__main__":
    main_of_part(
        part5_training_loop, ranks=48, layers=60, batch=192, micro_batch=1, profile="measured"
    )
