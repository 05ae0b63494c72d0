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
}
