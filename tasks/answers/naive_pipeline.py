from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "naive_pipeline-1": Prediction("""
        A) The last stage can't compute those: it has neither the weights of the stage before nor
        what that stage has saved in its forward.
        B* By the chain rule, everything that comes after a stage reaches it through the gradient of
        the loss with respect to its output. It's one tensor, of the shape of the activation.
        C) The loss is one number. It says how wrong the model is, but not in which direction each
        number of the activation should have gone.
    """),
    "naive_pipeline-3": Prediction("""
        A) They do share the work, but one after the other: a stage can't begin before the output of
        the stage before it has come.
        B) One third is the share in which a rank computes. For the rest it is idle.
        C* At any time one of three ranks computes, so each of them is idle {share:.0%} of the time:
        (p - 1) / p.
    """),
}

NUMBERS = {
    "naive_pipeline-5": Number(
        6,
        unit="layers",
        because="In all there's work for 34.4 layers, 8.6 a stage. With 6 layers and the head the "
        "last stage comes to 8.4, and with 7 to 9.4.",
        slips={
            8: "8 layers are an even share of the layers, but then the last stage has the head on "
            "top of it.",
            7: "7 layers and the head make 9.4, and an even share is 8.6; is there a number that "
            "comes closer?",
            5.6: "You took 2.4 from 8. But the head counts in the even share, too: that is larger "
            "than 8.",
            6.2: "that's the even share to the last digit, but a layer can't be cut: round it.",
            8.6: "That's an even share of all the work: the head is part of it.",
        },
    )
}
