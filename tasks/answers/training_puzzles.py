from helpers.lesson.asked import Prediction

PREDICTIONS = {
    "training_puzzles-3": Prediction("""
        A) A quarter needs four ranks that work at the same time. Here each waits for the one before
        it, as in lesson 05.
        B) Nothing overlaps as long as the batch travels in one piece. With micro-batches you get to
        about a half: that is PZ-7.
        C* Only one rank works at a time, since the next one needs its output (only updates run
        beside another rank's backward). Each rank updates only its own layers, and the messages
        cost almost as much as that saves.
    """),
    "training_puzzles-4": Prediction("""
        A) The states fit either way. Add the activations.
        B) ZeRO shards the states, but not the activations: those of all 60 layers stay on the card
        that computes the sequence, 51 GB.
        C) The activations of two layers are small for one sequence, but with 1F1B an early one of
        48 stages has more than 40 sequences in flight.
        D* ZeRO-3 leaves 36 GB of states on each card, and 60 layers times 0.86 GB don't fit beside
        them. A stage of two layers has over 50 GB of states, and early in the pipeline more than 40
        sequences would wait there for their backward: it's full at the 17th.
    """),
}
