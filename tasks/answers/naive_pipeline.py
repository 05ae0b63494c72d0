from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "naive_pipeline-1": Prediction("""
        A) It has neither the weights of the stage before nor what that stage saved in forward.
        B* By the chain rule, everything that comes after a stage reaches it through the gradient of
        the loss with respect to its output. It's one tensor, of the shape of the activation.
        C) The loss says how wrong the model is, but not in which direction y should have gone.
    """),
    "naive_pipeline-3": Prediction("""
        A) They share it one after the other: a stage can't begin before the one before has ended.
        B) One third is the share in which a rank computes. For the rest it is idle.
        C* Only one of three ranks computes at a time, so each is idle for {share:.0%}: (p - 1) / p.
    """),
}

NUMBERS = {
    "naive_pipeline-5": Number(
        6,
        unit="layers",
        because="34.4 layers of work are 8.6 a stage; 6 and the head make 8.4, and 7 make 9.4.",
        slips={
            8: "That's an even share of the layers, and then the last stage has the head on top.",
            7: "7 layers and the head make 9.4, and an even share is 8.6: which comes closer?",
            5.6: "You took 2.4 from 8. But the head counts in the even share, too.",
            6.2: "that's the even share to the last digit, but a layer can't be cut: round it.",
            8.6: "That's an even share of all the work: the head is part of it.",
        },
    )
}
