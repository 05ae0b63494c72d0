"""The right choices and numbers for what the lesson asks."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "buckets_and_overlap-1": Prediction(
        "C",
        A="Bandwidth isn't the only price: every message waits for its latency, however small it "
        "is.",
        B="That's what a single message takes. Each of the 57 pays a latency of its own.",
        C="57 messages of two ring steps each pay 57 ms of latency, on top of 44 ms for the bytes.",
        D="Each message carries only a 57th of the bytes, so the bytes don't count 57 times.",
    ),
    "buckets_and_overlap-2": Prediction(
        "B",
        A="Nothing can be sent during the forward, because there's no gradient yet.",
        B="The link is idle during the forward, T/3, and until the first bucket is complete; then "
        "it's busy for T. Eight buckets add T/12 for the first of them and 0.08 T of latency, "
        "which makes 1.5 T.",
        C="That's one message after backward. Buckets leave while backward is running.",
    ),
    "buckets_and_overlap-4": Prediction(
        "B",
        A="The hook of a parameter fires once, when all parts of its gradient have been added.",
        B="The embedding's part of the gradient comes last of all, so the tied weight is complete "
        "last, and the buckets behind it have to keep the order.",
        C="Then the ranks would have to agree on what to skip. They avoid that by keeping one "
        "order on all ranks.",
    ),
}
NUMBERS = {
    "buckets_and_overlap-6": Number(
        3,
        unit="buckets",
        because="The last layer has a bucket of its own, although it's larger than 25 MB, and the "
        "other 40 MB fill two.",
        slips={
            4: "That's 100 / 25, but a parameter isn't cut: the 60 MB layer is one bucket.",
            5: "The layer of 60 MB isn't cut into three: a larger parameter gets one bucket of its "
            "own.",
            2: "40 MB don't fit into one bucket of 25 MB.",
        },
    ),
    "buckets_and_overlap-7": Number(
        (0.9 / (2 * 125 * 10e-6)) ** 0.5,
        unit="buckets",
        tolerance=0.5,
        because="The link can't keep up, since 1.1 s > 0.9 s. A message pays 2 x 125 x 10 µs = "
        "2.5 ms of latency, and 0.9 s / 0.0025 s = 360, of which the root is 19.",
        slips={
            360: "Take the root: t_B / k falls and 2(n-1) alpha k grows.",
            (0.9 / (125 * 10e-6)) ** 0.5: "A ring all-reduce has 2(n-1) steps, not n-1.",
            (0.9 / 10e-6) ** 0.5: "A message pays its latency in each of the ring's 2(n-1) steps.",
            (1.1 / (2 * 125 * 10e-6)) ** 0.5: "What falls with k is the wait for the first bucket, "
            "t_B / k: it's backward that cuts it, not sending.",
        },
    ),
}
