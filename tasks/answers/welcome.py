from helpers.lesson.asked import Prediction

PREDICTIONS = {
    "welcome-1": Prediction(
        """
        3.8e25 FLOPs take {years:,.0f} years at the rate measured here, and that is before
        asking where 405 billion parameters would fit.
        A) A hundred years would need 12 PFLOP/s: about 35 H100s at the 340 TFLOP/s that each of
        them averaged over the 30.84 million hours.
        B) 5,000 years would need 240 TFLOP/s: the speed of a data-center GPU, and no laptop's
        processor comes near it.
        C) This machine is one of the fastest that ever ran this lesson.
        """,
        lambda years: "C" if years > 1e5 else "B" if years > 700 else "A",
    ),
    "welcome-3": Prediction("""
        A) The three gradients are averaged, not added: the step is as long as before.
        B) Each rank sees a third of the text, but through the averaged gradients it learns from all
        of it.
        C* Both take the mean over the same six sequences, and the gradient of a mean is the mean of
        the gradients. Only the order of the additions differs.
    """),
}
