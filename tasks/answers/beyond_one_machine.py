"""The right choices and numbers for what the lesson asks."""

from helpers.lesson.asked import Prediction

PREDICTIONS = {
    "beyond_one_machine-1": Prediction(
        "B",
        A="No process notices that there are four ranks 0, because they never talk to each other.",
        B="each process thinks that it's rank 0 of 1 and trains alone. (With a process group you'd "
        "be lucky: torch complains of a missing MASTER_ADDR, or of a port in use.) You get "
        "four models that overwrite each other's file, and none of the speed.",
        C="They would wait if one of them knew of the others. But each has a world of one.",
    ),
    "beyond_one_machine-2": Prediction(
        "B",
        here=lambda megabits: "A" if megabits < 60 else "B" if megabits < 6000 else "C",
        unless="Backward took much longer or shorter here than on the machines we tried.",
        A="At that rate the 17.5 megabits of gradients need nearly three seconds.",
        B="The gradients are 17.5 megabits, and each of two ranks sends them once. Divided by the "
        "time of a backward, that is about {megabits:.0f} megabits a second.",
        C="At that rate the 17.5 megabits of gradients need a third of a millisecond. This model "
        "is small: for a large one on GPUs you would be right.",
    ),
}
