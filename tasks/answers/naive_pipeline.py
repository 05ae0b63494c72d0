"""The right choices and numbers for what the lesson asks."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "naive_pipeline-1": Prediction(
        "B",
        A="The last stage can't compute those: it has neither the weights of the stage before nor "
        "what that stage has saved in its forward.",
        B="By the chain rule, everything that comes after a stage reaches it through the gradient "
        "of the loss with respect to its output. It's one tensor, of the shape of the activation.",
        C="The loss is one number. It says how wrong the model is, but not in which direction each "
        "number of the activation should have gone.",
    ),
    "naive_pipeline-2": Prediction(
        "B",
        A="That would hold if the model were layers alone. The two ends have a table with a row "
        "for each token of the vocabulary, and the last rank keeps the scores too.",
        B="It needs {share:.0%}. Layers and their activations are divided, but the embedding, the "
        "head and the scores belong to one rank each.",
        C="Activations are divided too: a stage saves only what its own layers need for their "
        "backward.",
    ),
    "naive_pipeline-3": Prediction(
        "C",
        A="They do share the work, but one after the other: a stage can't begin before the output "
        "of the stage before it has come.",
        B="One third is the share in which a rank computes. For the rest it is idle.",
        C="At any time one of three ranks computes, so each of them is idle {share:.0%} of the "
        "time: (p - 1) / p.",
    ),
}

NUMBERS = {
    "naive_pipeline-5": Number(
        6,
        unit="layers",
        because="In all there's work for 34.4 layers, 8.6 a stage. With 6 layers and the head the "
        "last stage comes to 8.4, and with 7 to 9.4.",
        slips={
            8: "8 layers are an even share of the layers, but then the last stage has the head on "
            "top of it.",
            7: "7 layers and the head make 9.4, and an even share is 8.6; is there a number that "
            "comes closer?",
            5.6: "You took 2.4 from 8. But the head counts in the even share, too: that is larger "
            "than 8.",
            6.2: "that's the even share to the last digit, but a layer can't be cut: round it.",
            8.6: "That's an even share of all the work: the head is part of it.",
        },
    ),
    "naive_pipeline-6": Number(
        0.875,
        because="(p - 1) / p = 7/8.",
        slips={
            0.125: "1/8 is the share in which a rank computes.",
            7: "7 is the idle time in units of a stage; divide it by the whole step, 8.",
            87.5: "write it as a number between 0 and 1.",
        },
    ),
    "naive_pipeline-7": Number(
        4 * 2048 * 4096 * 2 / 50e9 * 1e3,
        unit="ms",
        tolerance=0.02,
        because="4 · 2048 · 4096 numbers of 2 bytes are 67 MB, and 67 MB / 50 GB/s = 1.34 ms.",
        slips={
            0.671: "you counted numbers, not bytes: each of them has 2.",
            2.684: "the numbers have 2 bytes here, not 4.",
            0.336: "the batch has 4 sequences.",
            0.00134: "that's in seconds.",
        },
    ),
}
