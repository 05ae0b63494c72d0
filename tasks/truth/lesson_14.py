"""What lesson 14 asks: the right choices and the numbers."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "L14-1": Prediction(
        right="C",
        because="only the feed-forward networks exist eight times; attention and the embeddings "
        "are there once, for all experts.",
        wrong={
            "A": "The name multiplies whole models. The experts of a layer share one attention.",
            "B": "A token passes 2 experts in each layer, and attention besides; and what the "
            "experts share is there once and not eight times.",
        },
    ),
    "L14-3": Prediction(
        right=lambda dense, experts: (
            "C" if abs(dense - experts) < 0.03 else "A" if experts < dense else "B"
        ),
        because="after so few steps the dense model is at {dense:.2f} and the experts at "
        "{experts:.2f}.",
        wrong={
            "A": "More weights can hold more, once they are trained. But each expert has seen only "
            "a quarter of the tokens so far.",
            "B": "Compare the two ends of your run.",
            "C": "They cost the same. But the weights of an expert are updated from a quarter of "
            "the tokens, and the router has to learn as well.",
        },
    ),
    "L14-4": Prediction(
        right=lambda ratio: "A" if ratio <= 1.3 else "B" if ratio <= 2 else "C",
        because="the busiest expert has {ratio:.2f} times its share.",
        wrong={
            "A": "Nothing asks for equal shares: what was chosen improves, and is chosen again.",
            "B": "Look at the largest number of each row, and at the mean of the row.",
            "C": "It doesn't run away so fast in a hundred steps of a small model, where two "
            "choices a token leave room for others.",
        },
    ),
    "L14-5": Prediction(
        right=lambda best: {"sequence": "A", "position": "B", "token": "C"}[best],
        because="of the three, the {best} tells most about the expert.",
        wrong={
            "A": "That is what the word expert suggests. But the router sees one token at a time, "
            "through little context in a small model.",
            "B": "Positions turn queries and keys, and reach the router only by way of attention.",
            "C": "Compare the three numbers of your run.",
        },
    ),
    "L14-6": Prediction(
        right="C",
        because="tokens go out and results come home, and backward their gradients do the same.",
        wrong={
            "A": "The results have to come home again: the residual of a token is on its own rank.",
            "B": "That is the forward pass. Every row that travels has a gradient that travels.",
        },
    ),
    "L14-7": Prediction(
        right="C",
        because="all ranks meet in the all-to-all that brings the results home, and it can't end "
        "before the busiest rank has computed its rows.",
        wrong={
            "A": "The sum is the same, but three ranks wait while one works.",
            "B": "One late rank is enough: the others have nothing to do until its results come.",
        },
    ),
    "L14-9": Prediction(
        right=lambda gap: "B" if gap < 0.5 else "C",
        because="Adam divides each gradient by its own running size, so the factor cancels; the "
        "curves are at most {gap:.2f} nats apart.",
        wrong={
            "A": "That holds for SGD, where a gradient that is twice too large is a step that is "
            "twice too large. Adam's step doesn't depend on a constant factor.",
            "B": "Look at how far apart the two curves are in your run.",
            "C": "An overshoot would need a larger step, and Adam's step is as large as before.",
        },
    ),
    "L14-10": Prediction(
        right="C",
        because="each rank dispatches its own copy of every row, and the experts compute them all; "
        "each copy goes home to its own rank, so every rank has the right result.",
        wrong={
            "A": "The splits agree: every rank says truly how many rows it sends. There are just "
            "four times as many as there are different ones.",
            "B": "An all-to-all carries rows and doesn't look into them.",
        },
    ),
}
NUMBERS = {
    "L14-2": Number(
        480,
        unit="rows",
        because="an equal share is 4,096 x 6 / 64 = 384, and a quarter more is 480.",
        slips={
            384: "that is an equal share; the capacity factor leaves room above it.",
            80: "you have left out that a token makes six choices.",
            64: "that is one choice a token, without the factor.",
        },
    ),
    "L14-8": Number(
        114.688,
        unit="kB",
        tolerance=0.01,
        because="7,168 numbers x 2 bytes x 8 experts. Of 58 layers, forward and backward, there "
        "are 232 such trips.",
        slips={
            14.336: "that is one row, and the token goes to 8 experts.",
            57.344: "that is one byte a number: DeepSeek-V3 really dispatches in 8 bits, but the "
            "question says bfloat16.",
            229.376: "that is there and back; one dispatch is one way.",
        },
    ),
}
