from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "tensor_parallel-2": Prediction("""
        A) That holds for linear functions. But with one of those, two layers would be no more than
        one.
        B* the ReLU of a sum isn't the sum of the ReLUs: 3 and -5 give 0 together, and 3 apart.
    """),
    "tensor_parallel-4": Prediction("""
        A) They must: each rank has only some of the inputs.
        B) That holds for a cut by columns. Cut by rows, each rank's term has all outputs.
        C* the bias is in every term, so it is in the sum m times; it belongs after the sum.
    """),
    "tensor_parallel-7": Prediction("""
        A) That's all logits. Gathering them would work too, but the tensor is 1,365 times as large,
        and a rank would send 683 times as much.
        B* 3 x 128 x 3: a maximum, a sum of exponentials and the target's logit for each position.
        C) The loss is computed for each position, so what is exchanged grows with the positions and
        not with the vocabulary.
    """),
    "tensor_parallel-8": Prediction("""
        A) The work is divided among the ranks, but every rank needs all of the sum.
        B* in each all-reduce a rank sends 2 (n-1)/n times the activations, which is 1.75 times for
        8 ranks and 1.97 times for 64.
        C) In a ring each rank sends about two volumes, however many ranks there are.
    """),
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
    )
}
