from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "dp_x_pp-1": Prediction("""
        A) Rank 0 holds other layers than rank 1. A mean of their gradients would mix numbers that
        mean different things, and often they don't even have the same shape.
        B) Ranks 0 and 2 work on the same stories, but on other layers: their gradients belong to
        other weights. With them rank 1 exchanges activations.
        C* Ranks 1 and 4 hold the same layers and have seen different stories, so their gradients
        belong to the same weights.
    """),
    "dp_x_pp-2": Prediction("""
        A* In float64 the difference all but vanishes, and a wrong factor or a race would be as
        large as before. The rounding errors of one step enter the next one through the weights, and
        where the loss is strongly curved they grow from step to step.
        B) A wrong factor would be as large in float64 as in float32, and after the first step
        already.
        C) A missing micro-batch would change the gradient by a third, in every precision, and the
        loss curves would part.
    """),
    "dp_x_pp-3": Prediction("""
        A) Each weight lies on two of the six ranks, with the same gradient. Its square would count
        twice, and the norm would be too large by the square root of two.
        B* After the average both ranks of a column hold the same gradients, so every weight of the
        model is counted once in a row.
        C) The ranks of a column hold the same layers. Their sum is twice the square of one stage,
        and the other stages are missing.
    """),
    "dp_x_pp-6": Prediction("""
        A) It looks natural to keep a pipeline in one machine, since it talks all the time. But it
        says little each time: 17 MB for a micro-batch, against 3.5 GB of gradients.
        B* A stage's activations go out in small messages, which cost a second in all, but an
        all-reduce of gigabytes at the end of the step has nothing to hide behind.
        C) The work is the same, the messages aren't: the two layouts send 3.5 GB or 17 MB at a time
        through the cards.
    """),
}

NUMBERS = {
    "dp_x_pp-5": Number(
        7e9 / 4 * 2 / (2048 * 4096 * 2),
        unit="sequences",
        tolerance=1.0,
        because="3.5 GB of gradients, and 16.8 MB of activations for each sequence.",
        slips={
            7e9 * 2 / (2048 * 4096 * 2): "A stage has a quarter of the parameters.",
            7e9 / 4 * 2 / (4096 * 2): "That's the tokens. A sequence has 2,048 of them.",
            7e9 / 4 * 2 / (2 * 2048 * 4096 * 2): "You counted both ways; forward alone was asked.",
        },
    )
}
