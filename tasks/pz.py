"""PZ-1 to PZ-P5, the puzzles: a step on the simulated cluster. Each row of TASKS is a task."""

from math import inf

from tasks._pz import alone, case, drawn, listed, one_sample_each, puzzle, stages

ELEMENTS = 512 * 512  # of a layer, in the profile "steps"
HOLD = "delete each activation and gradient after the backward that needs it last"
PAGE = "puzzles/README.md"


def of_gpipe(ranks, layers, samples):
    """The pipeline is full after ranks - 1 samples; all activations, and all gradients apart."""
    each = layers // ranks
    time = (ranks - 1 + samples) * (2 * each + 0.8) - 0.8 + 0.5 * each
    return time, ELEMENTS * (2 * each + (each + 1) * samples)


P0 = {(8, 36, 32): (0.0202, 2.7e9), (5, 4, 30): (0.00277, 3.1e8), (1, 3, 6): (0.00212, 2.4e8)}
P1 = {(32, 64, 256): (0.1845, 2.9e9), (4, 6, 32): (0.0130, 2.0e8), (1, 2, 4): (0.00236, 1.9e8)}
P2 = {
    (4, 16, 2048): (2.74, 6.6e10),
    (3, 7, 64): (0.0403, 1.5e9),
    (4, 2, 8): (0.00174, 1.4e8),
    (1, 3, 8): (0.00208, 3.0e8),
}
P3 = {
    (16, 32, 2048): (2.75, 2.4e10),
    (4, 8, 64): (0.0194, 3.4e8),
    (3, 7, 40): (0.0131, 3.0e8),
    (5, 3, 16): (0.0037, 1.1e8),
    (1, 2, 8): (0.00145, 1.7e8),
}
TASKS = {
    "PZ-1": puzzle(
        "basic", 15, "one rank and the whole batch: forward, loss, backward, update",
        ("activations[layer] is the input of layer `layer`, so forward fills activations[layer + "
         "1]. When are the inputs of a backward needed for the last time?",
         "Load all layers; activations[0] = the input of all samples; a loop of forward; loss, "
         "then del activations[last + 1]; a reversed loop of backward, each followed by del of its "
         "activation and gradient; a loop of update and set_final_weight."),
        drawn((1, 2, 4), alone),
        lambda ranks, layers, samples: (
            layers * (2 * samples + 0.5), ELEMENTS * (2 * layers + (layers + 1) * samples / 2)),
        "every layer goes forward once and backward once, and is updated once",
        f"{HOLD}, and grad_activations[-1], which nobody needs",
    ),
    "PZ-2": puzzle(
        "accumulation", 15, "one rank and one sample at a time, with one update",
        ("Hold the activations of one sample at a time. The update needs the gradient of the whole "
         "batch: what can you add up?",
         "For each sample: forward, loss, backward; each gradient under a key of its own, then "
         "added to grad_weights[layer], and the key removed. Then update every layer."),
        drawn((1, 2, 4), alone),
        lambda ranks, layers, samples: (
            layers * (2 * samples + 0.5), ELEMENTS * (3.5 * layers + 0.5)),
        "a sample needs one forward and one backward a layer, and there is one update",
        "take one sample at a time, and keep the sum of the gradients alone; grad_activations[-1], "
        "which backward of layer 0 returns, is needed by nobody",
    ),
    "PZ-3": puzzle(
        "ddp", 20, "each rank takes one sample; sum the gradients over the ranks",
        ("Each rank has all weights and does what one rank did, for its own sample. What do the "
         "ranks have to tell each other before the update?",
         "As in PZ-1 with model.get_input_activation([model.rank]). After the backward of a layer: "
         "grad_weights[layer] = await model.all_reduce(grad_weights[layer], layer), on all ranks "
         "in the same order. Then update every layer."),
        drawn((4, 2, 4), one_sample_each),
        lambda ranks, layers, samples: (2.8 * layers, ELEMENTS * (3 * layers + 1)),
        "each rank takes its own sample alone, and each layer is reduced once", HOLD, star=True,
    ),
    "PZ-4": puzzle(
        "weight_sharded", 25, "keep a shard of each weight; gather layers when they are needed",
        ("Every rank keeps one part of each weight and of each optimizer state: "
         "model.load_weights(layer, shard, num_shards). Forward needs the whole weight. Who has "
         "the rest of it, and for how long is it needed?",
         "Before each forward and each backward: weights['whole'] = await "
         "model.all_gather(weights[layer], layer); after it: del weights['whole']. Reduce the "
         "gradients with all_reduce, as in PZ-3, and update the shards."),
        drawn((4, 6, 4), one_sample_each),
        lambda ranks, layers, samples: (
            3.4 * layers, ELEMENTS * (2 * layers / ranks + layers + 1.5)),
        "a layer is gathered twice and reduced once", "keep one whole weight at a time", star=True,
    ),
    "PZ-5": puzzle(
        "fully_sharded", 15, "shard the gradients too",
        ("In weight_sharded() each rank ends up with the whole gradient of every layer, but "
         "updates only one shard. What part of the summed gradient does it need?",
         "As weight_sharded(), but right after the backward of a layer: grad_weights[layer] = "
         "await model.reduce_scatter(grad_weights[layer], layer)."),
        drawn((4, 6, 4), one_sample_each),
        lambda ranks, layers, samples: (
            3.4 * layers, ELEMENTS * (2 * layers / ranks + layers / 2 + 3)),
        "a layer is gathered twice and reduced once",
        "cut the gradient of a layer into shards right after its backward", star=True,
    ),
    "PZ-6": puzzle(
        "pipeline", 25, "pass the whole batch through a pipeline of ranks",
        ("Each rank loads only its own layers. Which rank has the input of the model, and where do "
         "the others get theirs? Which rank can compute the loss?",
         "Rank 0: get_input_activation(range(model.global_batch_size)); others: receive. Forward "
         "through mine. The last rank: loss; others: send activations[after], then receive "
         "grad_activations[after - 1]. Backward through reversed(mine). rank > 0: send "
         "grad_activations[first - 1] back. Update mine."),
        drawn((4, 8, 4), stages),
        lambda ranks, layers, samples: (
            2 * layers * samples + 0.8 * (ranks - 1) + 0.5 * (layers // ranks),
            ELEMENTS * (2 * (layers // ranks) + (layers // ranks + 2) * samples / 2)),
        "nothing is sent twice, and each rank works only on its own layers",
        "load only the layers of this rank, and delete what has been used", star=True,
    ),
    "PZ-7": puzzle(
        "gpipe", 30, "one sample after the other through the pipeline",
        ("While rank 1 works on sample 0, rank 0 could work on sample 1. How must the loops be "
         "ordered, so that a rank never waits for a sample to come back before it starts the next?",
         "Two loops: all samples forward (get or receive, through mine, send on), then all "
         "backward, with activations[layer, sample] under a key of each sample's own, deleted "
         "after its backward; the gradients are added up. Then update."),
        drawn((4, 8, 4), stages), of_gpipe,
        "a rank sends a sample on and takes the next one at once",
        "delete the activations of a sample after its backward, and add up its gradients",
        star=True,
    ),
    "PZ-8": puzzle(
        "pipeline_sharded", 45, "a pipeline whose layers are sharded over all ranks",
        ("All ranks must call the same collectives in the same order, also for layers that are not "
         "theirs. What do they bring to a reduce_scatter then? (model.empty_grad)",
         "For layer in all layers: receive if it's my first and stage > 0; gather; forward if "
         "mine; drop the whole weight; send if it's my last and stage < 3. Loss on the last stage. "
         "The same in reverse, with reduce_scatter of the gradient or of empty_grad. Then update "
         "my shard of every layer."),
        listed((16, 4, 4), profile="steps"), {(16, 4, 4): (16, 966_656)},
        "gather and reduce each layer once each way, and let the pipelines work side by side",
        "drop the whole weight after each layer, and shard the gradient at once", star=True,
    ),
    "PZ-P0": puzzle(
        "train_ddp", 30, "data parallel with gradient accumulation, reduced once",
        (), listed((8, 36, 32, 2), (5, 4, 30, 4), (1, 3, 6, 2)), P0,
        "reduce each layer once, after all micro-batches",
        "keep the activations of one micro-batch at a time", page=PAGE,
    ),
    "PZ-P1": puzzle(
        "part1_training_loop", 45, "ZeRO: shard weights, gradients and optimizer states",
        (), listed((32, 64, 256, 8), (4, 6, 32, 2), (1, 2, 4, 2)), P1,
        "gather twice and reduce once for each layer and micro-batch",
        "keep one whole weight and one whole gradient at a time", page=PAGE,
    ),
    "PZ-P2": puzzle(
        "part2_training_loop", 30, "the naive pipeline, with any number of layers on a rank",
        (), listed(*P2), P2,
        "nothing is sent twice, and each rank works only on its own layers",
        "load only the layers of this rank, and delete what has been used", page=PAGE,
    ),
    "PZ-P3": puzzle(
        "part3_training_loop", 60, "1F1B: one forward and one backward in turn",
        ("GPipe keeps every micro-batch until all have gone forward. When could rank r do its "
         "first backward? How many micro-batches has it taken forward by then?",
         "warm_up = min(stages - rank - 1, len(batches)). For number in range(len(batches) + "
         "warm_up): forward(number) if number < len(batches); backward(number - warm_up) if number "
         ">= warm_up. Then update."),
        listed((16, 32, 2048, 128), (4, 8, 64, 4), (3, 7, 40, 4), (5, 3, 16, 2), (1, 2, 8, 2)), P3,
        "send a micro-batch on, and take the next one before the first one comes back",
        "after the warm-up each forward is followed by a backward, so rank r of p stages keeps at "
        "most p - r micro-batches",
    ),
    "PZ-P4": puzzle(
        "part4_training_loop", 120, "your own strategy: 80 % MFU or more on 32 ranks",
        ("Open the trace of a simple data parallel step: which costs are paid for each layer, and "
         "which can be made smaller by cutting something into shards?",
         "Load each layer whole; cut weight and state: weight.shard(rank, ranks). reduce_scatter "
         "of each gradient, update of the shard. With the profile bytes, start the reduce_scatter "
         "without await, and await it after the next layer's backward."),
        lambda: [
            case(4, 6, 64, 8, profile="classic"), case(2, 3, 8, 16, profile="bytes"),
            case(32, 16, 2048, 64, profile="classic"), case(32, 64, 2048, 64, profile="classic")],
        {(32, 16, 2048): (0.0879609, 60e9), (32, 64, 2048): (0.3518437, 60e9)},
        "the MFU must be 80 % at least; look at the trace: what is not computing?",
        "60e9 elements have full points: take smaller micro-batches, or shards",
    ),
    "PZ-P5": puzzle(
        "part5_training_loop", 180,
        "the boss: 109 billion parameters on 48 cards, 35 % MFU or more",
        ("Add up one card by hand: 16 bytes a parameter over 48 cards leave 44 GB, and an "
         "activation takes 0.86. One that you drop can be computed again. ZeRO-3 over all ranks "
         "reaches 15 %.",
         "Weights between nodes take 7.6 times as long: let a node be one stage of a pipeline "
         "whose eight ranks share its layers (load_weights(layer, lane, 8), model.group), and each "
         "sends its own samples to rank + 8. With 1F1B and only the first activation of each "
         "micro-batch kept: 36 %. Start the next all_gather before this entry computes: 50 %."),
        lambda: [case(16, 6, 16, 1, profile="measured"),
                      case(48, 60, 192, 1, profile="measured")],
        {(48, 60, 192): (50.2946, inf)},
        "the MFU must be 35 % at least; look at the trace: what is not computing?", "", seconds=240,
    ),
}  # fmt: skip
