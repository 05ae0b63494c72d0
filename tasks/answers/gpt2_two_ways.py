"""The right choices and numbers for what the lesson asks."""

from helpers.lesson.asked import Prediction

PREDICTIONS = {
    "gpt2_two_ways-1": Prediction(
        "B",
        A="That's true only if both have the same number of tokens.",
        B="Each sentence counts for one half, so a token of the short one has a larger share.",
        C="A long sentence's half is divided among more tokens, so each counts less.",
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
