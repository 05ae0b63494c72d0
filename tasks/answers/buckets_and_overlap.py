from helpers.lesson.asked import Prediction

PREDICTIONS = {
    "buckets_and_overlap-2": Prediction("""
        A) Nothing can be sent during the forward, because there's no gradient yet.
        B* The link is idle during the forward, T/3, and until the first bucket is complete; then
        it's busy for T. Eight buckets add T/12 for the first of them and 0.08 T of latency, which
        makes 1.5 T.
        C) That's one message after backward. Buckets leave while backward is running.
    """),
    "buckets_and_overlap-4": Prediction("""
        A) The hook of a parameter fires once, when all parts of its gradient have been added.
        B* The embedding's part of the gradient comes last of all, so the tied weight is complete
        last, and the buckets behind it have to keep the order.
        C) Then the ranks would have to agree on what to skip. They avoid that by keeping one order
        on all ranks.
    """),
}
