from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "what_training_costs-1": Prediction("""
        A* They take 4 s d = 8,192 d FLOPs a token, and the matrices 8 d d + 6 d f = 98,816 d.
        B) They would be half at about 25,000 tokens. At 2,048 the matrices dominate.
        C) They do grow with the square of the sequence, but from very little.
    """),
    "what_training_costs-2": Prediction("""
        A) The weights alone fit. Gradients and Adam's state take seven times as much.
        B) 4 bytes are the weight and the gradient, and Adam adds 12.
        C* 16 bytes a parameter are 108 GB, and three quarters of that is the optimizer's.
    """),
    "what_training_costs-4": Prediction("""
        A) Backward needs what forward computed. If that was kept, nothing is computed twice.
        B* forward 1 and backward 2 make 3, and a second forward makes 4: 4/3 at most.
        C) It would be that many if backward were repeated as well.
    """),
}

NUMBERS = {
    "what_training_costs-5": Number(
        32.3,
        unit="%",
        tolerance=1,
        because="3 x 3.81e14 FLOPs, over 1.42 s x 8 x 312 TFLOP/s.",
        slips={43.0: "That's HFU, with a second forward.", 10.8: "Backward counts, too: 3 times."},
    )
}
