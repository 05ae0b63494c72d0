from helpers.lesson.asked import Prediction

PREDICTIONS = {
    "data_parallel_weights-4": Prediction("""
        A) The outer momentum mostly makes steps longer, and a larger learning rate does that, too.
        B) Averaged steps are short, so averaging after every step gains far more from a larger one.
        C* DiLoCo ends {fair:.2f} nats above averaging the weights after every step. At 0.002
        averaged steps were too short, and the outer momentum made up for that.
    """)
}
