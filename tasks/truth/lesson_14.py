"""What lesson 14 asks: the right choices and the numbers."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "L14-1": Prediction(
        right="C",
        because="only the feed-forward networks exist eight times; all experts share one attention "
        "and one embedding table.",
        wrong={
            "A": "The name multiplies whole models. The experts of a layer share one attention.",
            "B": "A token passes through 2 experts in each layer, and through attention as well. "
            "And what the experts share is there once, not eight times.",
        },
    ),
    "L14-3": Prediction(
        right=lambda dense, experts: (
            "C" if abs(dense - experts) < 0.03 else "A" if experts < dense else "B"
        ),
        because="after so few steps the dense model is at {dense:.2f} and the experts at "
        "{experts:.2f}.",
        wrong={
            "A": "More weights can hold more once they're trained. But each expert has seen only "
            "a quarter of the tokens so far.",
            "B": "Compare the two curves at the end of your run.",
            "C": "They cost the same. But the weights of an expert are updated from a quarter of "
            "the tokens, and the router has to learn as well.",
        },
    ),
    "L14-4": Prediction(
        right=lambda ratio: "A" if ratio <= 1.3 else "B" if ratio <= 2 else "C",
        because="the busiest expert has {ratio:.2f} times its share.",
        wrong={
            "A": "Nothing asks for equal shares: an expert that was chosen improves and is chosen "
            "again.",
            "B": "Look at the largest number of each row, and at the mean of the row.",
            "C": "It doesn't run away so fast in a hundred steps of a small model, where two "
            "choices a token leave room for others.",
        },
    ),
    "L14-5": Prediction(
        right=lambda best: {"sequence": "A", "position": "B", "token": "C"}[best],
        because="of the three, the {best} tells the most about the expert.",
        wrong={
            "A": "That's what the word expert suggests. But the router sees one token at a time, "
            "and in a small model little of its context.",
            "B": "Positions rotate queries and keys, and reach the router only through attention.",
            "C": "Compare the three numbers of your run.",
        },
    ),
    "L14-6": Prediction(
        right="C",
        because="tokens go out and results come home, and in the backward pass their gradients do "
        "the same.",
        wrong={
            "A": "The results have to come home: the residual of a token is on the rank it came "
            "from.",
            "B": "That's the forward pass. Every row that travels has a gradient that travels "
            "back.",
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
        because="Adam divides each gradient by its own running size, so the factor all but "
        "cancels. The curves begin alike and then scatter, by at most {gap:.2f} nats.",
        wrong={
            "A": "That holds for SGD, where a gradient twice as large makes a step twice as large. "
            "Adam's step hardly depends on a constant factor.",
            "B": "Look at how far apart the two curves are in your run.",
            "C": "An overshoot would need a larger step, and Adam's step is as large as before.",
        },
    ),
    "L14-10": Prediction(
        right="C",
        because="each rank dispatches its own copy of every row, and the experts compute them all; "
        "each copy goes home to its own rank, so every rank has the right result.",
        wrong={
            "A": "The splits agree: every rank announces just the rows that it sends. There are "
            "only four copies of each.",
            "B": "An all-to-all moves rows and doesn't look into them.",
        },
    ),
}
NUMBERS = {
    "L14-2": Number(
        480,
        unit="rows",
        because="An equal share is 4,096 x 6 / 64 = 384, and a quarter more is 480.",
        slips={
            384: "that is an equal share; the capacity factor leaves room above it.",
            80: "you've left out that a token makes six choices.",
            64: "that is one choice a token, without the factor.",
        },
    ),
    "L14-8": Number(
        114.688,
        unit="kB",
        tolerance=0.01,
        because="It's 7,168 numbers x 2 bytes x 8 experts. And in 58 layers, there and back, "
        "forward and backward, there are 232 such trips.",
        slips={
            14.336: "that is one row, and the token goes to 8 experts.",
            57.344: "that is one byte a number: DeepSeek-V3 really dispatches in 8 bits, but the "
            "question says bfloat16.",
            229.376: "that's there and back, but a dispatch is one way.",
        },
    ),
}
