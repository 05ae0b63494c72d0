from helpers.lesson.asked import Prediction

PREDICTIONS = {
    "forensics-1": Prediction("""
        A) At each printed step one of 26 healthy runs is the highest, and one the lowest. With four
        printed steps, that makes many outsiders.
        B* {sick} of {of} curves leave it, but {healthy} of these seeds leave it without the
        mistake, too. In so short a run another seed changes the loss by far more than most of these
        mistakes do.
        C) More than half of them do. But nearly all of these would have left it anyway.
    """),
    "forensics-2": Prediction("""
        A) Then step 0 would be wrong too: the groups are the same in every step.
        B) What each backward added was right for each micro-batch, and a wrong count would show in
        step 0.
        C* What is right in the first step and wrong later has a past, or a condition that step 0
        doesn't meet. Here it's a past: gradients that nobody cleared, because each replica's
        optimizer knows only the weights that it owns.
    """),
    "forensics-3": Prediction("""
        A) The replicas count different tokens, so they divide by different numbers.
        B* a divisor is the same for all tensors of a replica, but each replica has its own. After
        the messages two different gradients are mixed in the wrong shares, and that's no factor.
        C) The mean of two means is the whole mean only if both count equally many tokens.
    """),
}
