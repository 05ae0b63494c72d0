"""What lesson 07 asks: the right choices and the numbers."""

from helpers.lesson.asked import Number, Prediction


def _uneven_step() -> float:
    from helpers.schedules import zb_h1
    from helpers.simulate import Costs, simulate

    return simulate(zb_h1(4, 8), Costs(2, 2, 1)).step_time


PREDICTIONS = {
    "L07-1": Prediction(
        right="B",
        because="the pipeline fills and empties in steps of half the length, so the idle time at "
        "both ends is halved: 3 / (2 x 8 + 3).",
        wrong={
            "A": "The work is the same, but idle time isn't work. It comes from waiting for the "
            "first chunk to arrive, and a chunk is now half as long.",
            "C": "The first micro-batch still has to pass three ranks before the last one can "
            "start. It only passes them faster.",
        },
    ),
    "L07-2": Prediction(
        right="B",
        because="rank 0 keeps p + (p - 1) / v stages' worth from v = 2 on: the jump comes with the "
        "second chunk, and finer chunks make it smaller.",
        wrong={
            "A": "A rank does keep more chunks with each further cut. But each of them is a "
            "smaller part of a stage, and that wins.",
            "C": "It holds as many weights as before. Activations are another matter: they depend "
            "on how far a rank runs ahead before its first backward.",
        },
    ),
    "L07-3": Prediction(
        right="B",
        because="two chunks run further ahead than 1F1B, so more of the waiting for messages hides "
        "behind work; with four, a chunk is too short to hide anything.",
        wrong={
            "A": "It sends the fewest messages, but it also keeps the fewest micro-batches in "
            "flight, so it stalls on each of them.",
            "C": "It has the smallest bubble while messages are free. But a micro-batch crosses "
            "fifteen borders here, and a chunk of 250 ms can't hide a message of 500 ms.",
        },
    ),
    "L07-5": Prediction(
        right="A",
        because="the stage before needs I to continue its own backward. The gradients of the "
        "weights stay where the weights are.",
        wrong={
            "B": "The weights of a stage live on its own rank, and so do their gradients: no other "
            "stage uses them.",
            "C": "The whole backward is often one call, so it looks as if both were needed. What "
            "travels to the stage before is I alone.",
        },
    ),
    "L07-7": Prediction(
        right="B",
        because="rank 0 begins first and also ends first, so the next step fits behind this one "
        "without a gap: 24 s for each further step in place of 27.",
        wrong={
            "A": "That's right for a single step with free messages. But a training has thousands "
            "of steps, one behind the other.",
            "C": "Both send one activation and one gradient per micro-batch across each border.",
        },
    ),
    "L07-8": Prediction(
        right="B",
        because="no rank can begin its second step before the slowest has ended its first, so each "
        "step takes its full 27 s again.",
        wrong={
            "A": "The message is small, but it can't leave before the last gradient of the last "
            "rank is there. The waiting for it is what costs.",
            "C": "Within a step ZB-H2 still beats 1F1B: 27 s against 33. Only the sliding of one "
            "step into the next is lost.",
        },
    ),
    "L07-9": Prediction(
        right="C",
        because="the named orders were made for other times. The search fits one to these times "
        "and to this memory.",
        wrong={
            "A": "It leaves B in one piece, so nothing is there to fill its idle time with.",
            "B": "It's the best of the named ones that fit, but it doesn't use all the memory, and "
            "it was made for W as long as I.",
        },
    ),
}

NUMBERS = {
    "L07-4": Number(
        4,
        unit="chunks",
        because="7 / (16 v + 7) is at most 1/10 from v = 63/16 on, which is a little less than 4.",
        slips={
            3: "With three chunks it's 7/55, which is above a tenth.",
            5: "You divided by the ideal time, 7 / (16 v). We asked for the share of the total.",
        },
    ),
    "L07-6": Number(
        _uneven_step,
        unit="s",
        because="8 micro-batches of F + I + W = 5 s are 40 s of work, and (4 - 1)(2 + 2 - 1) = 9 s "
        "are idle.",
        slips={
            9: "Those are the idle seconds. The work comes on top of them.",
            40: "That's the work. (p - 1)(F + I - W) seconds of idle time come on top of it.",
            55: "That's 1F1B: (8 + 3) times 5 s.",
            52: "You put p where p - 1 belongs.",
        },
    ),
}
