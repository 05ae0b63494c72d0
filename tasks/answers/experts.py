from helpers.lesson.asked import Prediction

PREDICTIONS = {
    "experts-1": Prediction("""
        A) The name multiplies whole models. The experts of a layer share one attention.
        B) A token passes through 2 experts in each layer, and through attention as well. And what
        the experts share is there once, not eight times.
        C* only the feed-forward networks exist eight times; all experts share one attention and one
        embedding table.
    """),
    "experts-4": Prediction(
        """
        the busiest expert has {ratio:.2f} times its share.
        A) Nothing asks for equal shares: an expert that was chosen improves and is chosen
        again.
        B) Look at the largest number of each row, and at the mean of the row.
        C) It doesn't run away so fast in a few hundred steps of a small model, where two
        choices for each token leave room for others.
        """,
        lambda ratio: "A" if ratio <= 1.3 else "B" if ratio <= 2 else "C",
    ),
    "experts-7": Prediction("""
        A) The sum is the same, but three ranks wait while one works.
        B) One late rank is enough: the others have nothing to do until its results come.
        C* all ranks meet in the all-to-all that brings the results home, and it can't end before
        the busiest rank has computed its rows.
    """),
    "experts-9": Prediction("""
        A* the sum over those who hold an expert is divided by their number, n / EP, where it should
        be n: with EP 1 that's the same.
        B) There's nothing to add up, but backward's all-to-all has already made it a sum over four
        ranks, and nothing divides it by 4.
        C) Each replica's gradient is already a sum over the ranks that share its experts.
    """),
}
