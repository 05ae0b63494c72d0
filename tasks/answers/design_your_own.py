from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "design_your_own-3": Prediction("""
        A) That would be right for a fixed number of micro-batches. Here the batch and the devices
        are fixed, so a shorter pipeline also gets fewer of them.
        B) Each stage is shorter, but there are more of them to fill: the time to fill the pipeline
        is the same.
        C* The bubble is (p - 1) / (m + p - 1). With twice the stages there are half as many
        replicas, so each pipeline gets twice the micro-batches: p and m grow together.
    """),
    "design_your_own-5": Prediction(
        """
        You pay for GPU hours, and eight times the GPUs take about an eighth of the time. The
        price changes only as far as each GPU is used better or worse, here {ratio:.2f} times.
        A) Per hour they do, but they're done in about an eighth of the time.
        B) This time the model says otherwise.
        C) It does take about eight times as long, but on an eighth of the GPUs.
        """,
        lambda ratio: "A" if ratio > 2 else "C" if ratio < 0.5 else "B",
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
