"""What lesson 08 asks: the right choices and the numbers."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "L08-1": Prediction(
        right="C",
        because="Ranks 1 and 4 hold the same layers and have seen different stories, so their "
        "gradients belong to the same weights.",
        wrong={
            "A": "Rank 0 holds other layers than rank 1. A mean of their gradients would mix "
            "numbers that mean different things, and often they don't even have the same shape.",
            "B": "Ranks 0 and 2 work on the same stories, but on other layers: their gradients "
            "belong to other weights. With them rank 1 exchanges activations.",
        },
    ),
    "L08-2": Prediction(
        right="A",
        because="In float64 the difference all but vanishes, and no bug knows about precision. The "
        "rounding errors of one step enter the next one through the weights, and where the loss "
        "is steep they grow from step to step. Here they grow fastest in the embedding.",
        wrong={
            "B": "A wrong factor would be as large in float64 as in float32, and after the first "
            "step already.",
            "C": "A missing micro-batch would change the gradient by a third, in every precision, "
            "and the loss curves would part.",
        },
    ),
    "L08-3": Prediction(
        right="C",
        because="The step ends when stage 0 has averaged. The later stages did their last "
        "backward earlier and averaged while stage 0 was still computing or waiting.",
        wrong={
            "A": "The columns are disjoint groups of ranks and average at the same time. Their "
            "times don't add up.",
            "B": "The last stage finishes its backwards first: in 1F1B the gradients still have to "
            "travel back to stage 0.",
        },
    ),
    "L08-4": Prediction(
        right="B",
        because="3.5 GB of gradients against 0.13 GB of activations: a stage has far more weights "
        "than a boundary between stages has activations.",
        wrong={
            "A": "The activations inside of a stage are many, but only those at its boundary are "
            "sent: one vector of 4,096 numbers for each token.",
        },
    ),
    "L08-5": Prediction(
        right="B",
        because="A stage's activations go out in small messages while both neighbors compute, but "
        "an all-reduce of gigabytes at the end of the step has nothing to hide behind.",
        wrong={
            "A": "It looks natural to keep a pipeline in one machine, since it talks all the time. "
            "But it says little each time: 17 MB for a micro-batch, against 3.5 GB of gradients.",
            "C": "The work is the same, the messages aren't: the two layouts send 3.5 GB or 17 MB "
            "at a time over the slow link.",
        },
    ),
}


def best_stages():
    """The number of stages with the shortest step when all columns are on the slow link."""
    from helpers.network import Link
    from helpers.schedules import one_f_one_b
    from helpers.simulate import Costs, simulate

    between, seconds = Link(10_000, 0.05), {}
    for pp in (1, 2, 3, 4, 6):
        dp = 12 // pp
        costs = Costs(
            *[0.19 / pp] * 3,
            message_bytes=2 * 2048 * 4096,
            bandwidth=3e11,
            latency=1e-5,
            all_reduce=between.all_reduce_seconds(14e9 / pp, dp),
        )
        seconds[pp] = simulate(one_f_one_b(pp, 48 // dp), costs).step_time
    return min(seconds, key=seconds.get)


NUMBERS = {
    "L08-6": Number(
        best_stages,
        unit="stages",
        because="Each stage has a sixth of the gradients, and only two ranks share them: that "
        "outweighs the larger bubble by far.",
        slips={
            1: "Without a pipeline there's no bubble, but 14 GB of gradients per rank then cross "
            "the slow link.",
            4: "Four stages fit one machine, but the columns are what is slow here: more stages "
            "mean smaller gradients per column.",
        },
    ),
    "L08-7": Number(
        4,
        unit="ranks",
        because="A column has one rank of each of the dp rows.",
        slips={
            8: "That's the row: the stages of one pipeline.",
            32: "That's the whole grid. Only the ranks with the same stage average with rank 0.",
            3: "Rank 0 is in its own group too.",
        },
    ),
}
