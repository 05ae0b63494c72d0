from helpers.lesson.asked import Prediction

PREDICTIONS = {
    "welcome-1": Prediction(
        """
        3.8e25 FLOPs take {years:,.0f} years at the rate measured here, and that is before
        asking where 405 billion parameters would fit.
        A) That would need 12 PFLOP/s: about 35 H100s at the 340 TFLOP/s that Meta's averaged.
        B) That would need 240 TFLOP/s, the speed of a data-center GPU. No laptop comes near it.
        C) This machine is one of the fastest that ever ran this lesson.
        """,
        lambda years: "C" if years > 1e5 else "B" if years > 700 else "A",
    ),
    "welcome-3": Prediction("""
        A) The three gradients are averaged, not added: the step is as long as before.
        B) Through the averaged gradients each rank learns from all of the text.
        C* Both take the mean over the same six sequences: only the order of additions differs.
    """),
}
