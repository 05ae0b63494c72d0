"""The right choices and numbers for what the lesson asks."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "tensor_parallel-1": Prediction(
        "B",
        A="Each rank's result is one term of every output. Somebody has to add them up.",
        B="the hidden features stay where they are, and only the terms of Y are added up.",
        C="That is the columns-columns way, which gathers the hidden features as well.",
    ),
    "tensor_parallel-2": Prediction(
        "B",
        A="That holds for linear functions. But with one of those, two layers would be no more "
        "than one.",
        B="the ReLU of a sum isn't the sum of the ReLUs: 3 and -5 give 0 together, and 3 apart.",
    ),
    "tensor_parallel-4": Prediction(
        "C",
        A="They must: each rank has only some of the inputs.",
        B="That holds for a cut by columns. Cut by rows, each rank's term has all outputs.",
        C="the bias is in every term, so it is in the sum m times; it belongs after the sum.",
    ),
    "tensor_parallel-5": Prediction(
        lambda backward: {2: "A", 5: "B"}.get(backward, "C"),
        because="queries, keys, values, gate and up each have a Copy, and each Copy is an "
        "all-reduce backward, {backward} in all.",
        A="That is what one Copy before all three of queries, keys and values, and one before gate "
        "and up, would give.",
        B="Count the projections that are cut by outputs.",
        C="There are seven projections in a block, but a Sum sends nothing backward.",
    ),
    "tensor_parallel-7": Prediction(
        "B",
        A="That's all logits. Gathering them would work too, but the tensor is 1,365 times as "
        "large, and a rank would send 683 times as much.",
        B="3 x 128 x 3: a maximum, a sum of exponentials and the target's logit for each position.",
        C="The loss is computed for each position, so what is exchanged grows with the positions "
        "and not with the vocabulary.",
    ),
    "tensor_parallel-8": Prediction(
        "B",
        A="The work is divided among the ranks, but every rank needs all of the sum.",
        B="in each all-reduce a rank sends 2 (n-1)/n times the activations, which is 1.75 times "
        "for 8 ranks and 1.97 times for 64.",
        C="In a ring each rank sends about two volumes, however many ranks there are.",
    ),
}
NUMBERS = {
    "tensor_parallel-3": Number(
        15.0,
        unit="MB",
        tolerance=0.01,
        because="2 x 15/16 x 8.",
        slips={
            7.5: "that is one half of it: a reduce-scatter or an all-gather.",
            16.0: "almost: a rank sends the parts of the others, 15 of 16.",
            240.0: "that is what travels in all if one rank collects everything and sends it back "
            "to the others.",
        },
    ),
    "tensor_parallel-6": Number(
        128,
        unit="all-reduces",
        because="two forward and two backward in each of 32 layers.",
        slips={
            64: "you have counted one direction, or one of the two parts of a layer.",
            1024: "the number of ranks doesn't matter: all take part in the same all-reduce.",
            224: "that is our script, with five backward; Megatron has two.",
        },
    ),
}
