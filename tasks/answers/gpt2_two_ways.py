"""The right choices and numbers for what the lesson asks."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "gpt2_two_ways-1": Prediction(
        "B",
        A="That's true only if both have the same number of tokens.",
        B="Each sentence counts for one half, so a token of the short one has a larger share.",
        C="A long sentence's half is divided among more tokens, so each counts less.",
    ),
    "gpt2_two_ways-2": Prediction(
        "B",
        A="It has less of each, but it has both: compared with eight replicas it adds bubbles, and "
        "compared with one pipeline it adds gradients.",
        B="From eight replicas to two, six trips of the gradients are saved, 6 x 2S/B of the "
        "ranks' time, and six bubbles are added, 6 x c. Here the two are equal.",
        C="It pays for both, but for less of each; the step time is a straight line between the "
        "two ends.",
    ),
    "gpt2_two_ways-4": Prediction(
        "B",
        A="Autograd never uses these two. On GPUs it has a thread of its own for each device, so "
        "two threads would compute; here both parts are on one device, the CPU.",
        B="Autograd has one thread for each GPU, but on a CPU backward runs in the thread that "
        "called it.",
        C="The graph of a micro-batch could be walked by a thread of its own, but autograd doesn't "
        "know micro-batches.",
    ),
}
NUMBERS = {
    "gpt2_two_ways-3": Number(
        4 / 3 * 400e12 / 50e9,
        unit="tokens",
        tolerance=0.01 * 4 / 3 * 400e12 / 50e9,
        because="F/B is 8,000, and 4 bytes of a gradient make it 4/3 of that.",
        slips={
            8000: "That is F/B itself. The factor b/3 is still missing.",
            16000 / 3: "That is for gradients of 2 bytes; 32 bits are 4.",
            4
            / 3
            * 989e12
            / 50e9: "That is with the peak of 989 TFLOP/s, not with what is reached.",
        },
    )
}
