from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "beyond_one_machine-1": Prediction("""
        A) No process notices that there are four ranks 0, because they never talk to each other.
        B* each process thinks that it's rank 0 of 1 and trains alone. (With a process group you'd
        be lucky: torch complains of a missing MASTER_ADDR, or of a port in use.) You get four
        models that overwrite each other's file, and none of the speed.
        C) They would wait if one of them knew of the others. But each has a world of one.
    """),
    "beyond_one_machine-2": Prediction("""
        A* The failure rates of independent machines add up, so the time until one of them fails is
        51,000 hours divided by 16,384.
        B) Divide by all 16,384: any one of them stops the job.
        C) With two dozen GPUs it would. But any one of the 16,384 stops the job.
    """),
    "beyond_one_machine-4": Prediction("""
        A* The loss is the root of 2 C / M. Six times the failures make M six times smaller, and the
        loss grows by the root of six.
        B) That is six times 7 %. But you would also save more often, so only the root of six
        counts.
        C) Failures come six times as often: M falls, and C doesn't.
    """),
    "beyond_one_machine-5": Prediction("""
        A* The step is closed, so its mean can't change. The lighthouse keeps the past means, and a
        replica that applies them in order ends with the same weights as all others.
        B) Its gradient belongs to the weights of step 7. In synchronous training every gradient of
        a step belongs to the same weights, and only then can one device take the same step.
        C) Its weights are old, not wrong: they were everybody's before step 7.
    """),
}
NUMBERS = {
    "beyond_one_machine-3": Number(
        13.64,
        unit="minutes",
        tolerance=0.1,
        because="sqrt(2 x 30 s x 11,160 s) = 818 s.",
        slips={
            9.64: "You left out the 2: a failure costs half an interval on average.",
            818: "That is in seconds.",
            1.76: "Put both times into the same unit: 3.1 hours are 11,160 seconds.",
        },
    )
}
