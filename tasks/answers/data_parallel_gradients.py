from helpers.lesson.asked import Prediction

PREDICTIONS = {
    "data_parallel_gradients-3": Prediction("""
        A) That would be true if both used the gradient as it is. Adam rescales it first.
        B* Adam divides each gradient by a running average of its own size, so a constant factor
        cancels. SGD takes a step that is three times too long.
        C) It's the other way round: SGD uses the gradient as it is, Adam rescales it.
    """),
    "data_parallel_gradients-4": Prediction("""
        A* in a ring every rank sends one quarter in each step. After three steps of adding, each
        holds one finished quarter, and three steps of passing them on bring all four to everybody:
        6 messages of 1 MB.
        B) That's rank 0 in the star. It does all the adding and sends all the results, while the
        links of the others lie idle.
        C) After sending its tensor once, a rank hasn't helped to distribute the result yet, and
        every finished part still has to reach every rank.
    """),
}
