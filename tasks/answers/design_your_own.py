"""The right choices and numbers for what the lesson asks."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "design_your_own-2": Prediction(
        lambda shrinks: "B" if -0.5 < shrinks < 0.4 else "A" if shrinks > 0 else "C",
        because="The products halve, but the collectives of each layer now cross the network "
        "between the nodes and grow: {shrinks:.0%} shorter, for twice the GPUs.",
        A="The work of a device does halve. The bytes that it sends don't, and they now cross a "
        "slower network with a higher latency.",
        B="This time the model says otherwise.",
        C="The collectives do get slower, but they are only a part of the step, and the rest "
        "halves.",
    ),
    "design_your_own-3": Prediction(
        "C",
        A="That would be right for a fixed number of micro-batches. Here the batch and the devices "
        "are fixed, so a shorter pipeline also gets fewer of them.",
        B="Each stage is shorter, but there are more of them to fill: the time to fill the "
        "pipeline is the same.",
        C="The bubble is (p - 1) / (m + p - 1). With twice the stages there are half as many "
        "replicas, so each pipeline gets twice the micro-batches: p and m grow together.",
    ),
    "design_your_own-5": Prediction(
        lambda ratio: "A" if ratio > 2 else "C" if ratio < 0.5 else "B",
        because="You pay for GPU hours, and eight times the GPUs take about an eighth of the time. "
        "The price changes only as far as each GPU is used better or worse, here {ratio:.2f} "
        "times.",
        A="Per hour they do, but they're done in about an eighth of the time.",
        B="This time the model says otherwise.",
        C="It does take about eight times as long, but on an eighth of the GPUs.",
    ),
}
NUMBERS = {
    "design_your_own-1": Number(
        43.75,
        unit="GB",
        tolerance=1.5,
        because="175e9 parameters x 16 bytes / (8 stages x 8 parts) = 43.75 GB. The replicas don't "
        "divide anything before ZeRO.",
        slips={
            5.47: "Did you divide by all 512 devices? Each of the 8 replicas keeps everything. (Or "
            "did you count 2 bytes for each parameter instead of 16?)",
            350: "You divided by the stages or by the parts only: 8 stages with 8 parts make 64.",
            2800: "That is the whole model. Divide by the stages and the parts.",
            5.5: "Did you divide by all 512 devices? Each of the 8 replicas keeps everything. (Or "
            "did you count 2 bytes for each parameter instead of 16?)",
        },
    ),
    "design_your_own-8": Number(
        5.7,
        unit="seconds",
        tolerance=0.1,
        because="A replica reads 64 x 2,048 tokens, so it's 8 x 175e9 x 131,072 FLOPs, on 64 GPUs "
        "with 503e12 FLOP/s each.",
        slips={
            4.28: "That's without recomputation: forward comes twice, so it's 8 FLOPs, not 6.",
            45.6: "Did you count the whole batch? Each of the 8 replicas reads an eighth of it.",
            0.71: "Did you divide by all 512 GPUs? A replica has 64, and reads an eighth of the "
            "batch.",
            2.9: "That's at the peak of 989 TFLOP/s, which no program reaches.",
        },
    ),
    "design_your_own-4": Number(
        35,
        unit="H100s",
        because="175e9 x 16 bytes = 2.8 TB, and 2.8 TB / 80 GB = 35.",
        slips={
            5: "That is the 2 bytes of the weights in 16 bits alone. Gradients and Adam's states "
            "make it 16.",
            4: "Count 16 bytes for each parameter, not 2.",
            9: "That is 4 bytes for each parameter. Count gradients and optimizer states too.",
        },
    ),
    "design_your_own-9": Number(
        256,
        unit="GPUs",
        because="A replica needs 64, so 7 of 8 are whole; but 512 sequences can't be divided among "
        "7, 6 or 5. Four replicas go on, and half of the cluster waits for one node: that's what "
        "spares are for, and replicas that may have different batches.",
        slips={
            504: "The replica that has lost 8 of its 64 GPUs can't go on without them.",
            448: "Seven replicas are whole, but 512 sequences can't be divided among 7.",
            384: "512 sequences can't be divided among 6.",
            496: "The replica that has lost 8 of its 64 GPUs can't go on without them.",
        },
    ),
}
