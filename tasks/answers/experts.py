"""The right choices and numbers for what the lesson asks."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "experts-1": Prediction(
        "C",
        A="The name multiplies whole models. The experts of a layer share one attention.",
        B="A token passes through 2 experts in each layer, and through attention as well. And what "
        "the experts share is there once, not eight times.",
        C="only the feed-forward networks exist eight times; all experts share one attention and "
        "one embedding table.",
    ),
    "experts-3": Prediction(
        "B",
        A="What a layer can hold is the weights of all its experts. But this small model, in so "
        "few steps, makes little of them.",
        B="at the best rate of both the experts are lower by {ahead:.3f} nats.",
        C="That would hold if each expert had to learn everything. It only has to learn what the "
        "tokens need that are sent to it.",
    ),
    "experts-4": Prediction(
        lambda ratio: "A" if ratio <= 1.3 else "B" if ratio <= 2 else "C",
        because="the busiest expert has {ratio:.2f} times its share.",
        A="Nothing asks for equal shares: an expert that was chosen improves and is chosen again.",
        B="Look at the largest number of each row, and at the mean of the row.",
        C="It doesn't run away so fast in a few hundred steps of a small model, where two choices "
        "for each token leave room for others.",
    ),
    "experts-5": Prediction(
        lambda best: {"sequence": "A", "position": "B", "token": "C"}[best],
        because="of the three, the {best} tells the most about the expert.",
        A="That's what the word expert suggests. But the router sees one token at a time, and in a "
        "small model little of its context.",
        B="Positions rotate queries and keys, and reach the router only through attention.",
        C="Compare the three numbers of your run.",
    ),
    "experts-6": Prediction(
        "C",
        A="The results have to come home: the residual of a token is on the rank it came from.",
        B="That's the forward pass. Every row that travels has a gradient that travels back.",
        C="tokens go out and results come home, and in the backward pass their gradients do the "
        "same.",
    ),
    "experts-7": Prediction(
        "C",
        A="The sum is the same, but three ranks wait while one works.",
        B="One late rank is enough: the others have nothing to do until its results come.",
        C="all ranks meet in the all-to-all that brings the results home, and it can't end before "
        "the busiest rank has computed its rows.",
    ),
    "experts-9": Prediction(
        "A",
        A="the sum over those who hold an expert is divided by their number, n / EP, where it "
        "should be n: with EP 1 that's the same.",
        B="There's nothing to add up, but backward's all-to-all has already made it a sum over "
        "four ranks, and nothing divides it by 4.",
        C="Each replica's gradient is already a sum over the ranks that share its experts.",
    ),
}
NUMBERS = {
    "experts-2": Number(
        480,
        unit="rows",
        because="An equal share is 4,096 x 6 / 64 = 384, and a quarter more is 480.",
        slips={
            384: "that is an equal share; the capacity factor leaves room above it.",
            80: "you've left out that a token makes six choices.",
            64: "that is one choice a token, without the factor.",
        },
    ),
    "experts-8": Number(
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
