"""What lesson 20 asks: the right choices and the numbers."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "L20-1": Prediction(
        right="A",
        because="The mean of the gradients of 2 x 8 sentences is the gradient of 16. Every step is "
        "the same step, so only rounding differs.",
        wrong={
            "B": "Each rank computes on half of the sentences, but each step of both uses all of "
            "them, through the averaged gradient.",
            "C": "Gradients are averaged in each step, not models after a while (that was lesson "
            "04). The two models never differ.",
        },
    ),
    "L20-2": Prediction(
        right=lambda ratio: "A" if ratio < 0.6 else "B" if ratio < 0.95 else "C",
        because="Two ranks took {ratio:.2f} times as long. Half a batch takes more than half of "
        "the time, and 52 messages a step come on top.",
        wrong={
            "A": "That would need messages that cost nothing, and a core that computes 8 "
            "sentences in half of the time of 16.",
            "B": "It can be like that with larger batches, or on cores with nothing else to do. "
            "This time it was {ratio:.2f}.",
            "C": "It can be like that on a busy machine, or with smaller batches. This time it was "
            "{ratio:.2f}.",
        },
    ),
    "L20-3": Prediction(
        right="B",
        because="Each sentence counts for one half, so a token of the short one has a larger "
        "share.",
        wrong={
            "A": "That's true only if both have the same number of tokens.",
            "C": "A long sentence's half is divided among more tokens, so each counts less.",
        },
    ),
    "L20-5": Prediction(
        right=lambda ratio: "A" if ratio > 1.7 else "B" if ratio > 0.6 else "C",
        because="On a CPU, autograd runs backward in one thread, and backward is about two thirds "
        "of the work. So the whole step was {ratio:.2f} times as fast.",
        wrong={
            "A": "That would need a backward that overlaps too. It does on GPUs, and with "
            "processes.",
            "B": "This time the measurement says something else.",
            "C": "Threads and small pieces cost something, but not that much: {ratio:.2f}.",
        },
    ),
    "L20-6": Prediction(
        right=lambda gain: "B" if gain > 1.15 else "C" if gain < 0.87 else "A",
        because="Compared with eight replicas, the pipeline did {gain:.2f} times as well as "
        "planned. A bubble is cheap where ranks share cores, but messages cost processor time.",
        wrong={
            "A": "The plan gives every rank a share of a core of its own. Here the cores go to "
            "whichever rank has work.",
            "B": "A bubble does leave its core to others. On this machine, small micro-batches and "
            "messages weighed more.",
            "C": "Many small messages do cost processor time. On this machine the bubble, which "
            "leaves its core to others, weighed more.",
        },
    ),
}
NUMBERS = {
    "L20-4": Number(
        15,
        unit="ticks",
        because="The last micro-batch, number 11, is in the last part, number 3, at tick 14; ticks "
        "count from 0.",
        slips={
            14: "That is the number of the last tick, but the ticks count from 0.",
            16: "12 + 4 is one too many: the last part's first tick comes after 3 ticks, not 4.",
            48: "That is how many tasks there are. Several of them share a tick.",
        },
    ),
}
