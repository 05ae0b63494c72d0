from helpers.lesson.asked import Prediction

PREDICTIONS = {
    "ranks_and_collectives-1": Prediction("""
        A) It would work if send put the tensor into a mailbox and returned. Some libraries do that
        with small messages, but you can't count on it.
        B* send returns once the receiver has begun to take the data, and both ranks stand in send.
        No rank is left to receive, so neither gets past its send.
        C) Speed doesn't matter here: whichever rank comes first waits for the other one to receive,
        and the other one waits too.
    """),
    "ranks_and_collectives-2": Prediction("""
        A) Rank 4 does wait for rank 0, but rank 0 waits for rank 1, which is ready to receive.
        That's a chain with an end, not a circle.
        B) The size makes no difference: gloo's send waits for its receiver at every size.
        C* rank 1 receives first, so rank 0's send goes through; then rank 0 receives, which frees
        rank 4 to receive from rank 3. A deadlock needs a complete circle of waiting ranks: one rank
        that receives first breaks it, as long as not all of them do.
    """),
    "ranks_and_collectives-3": Prediction("""
        A* a collective needs every rank. Ranks 0 and 1 wait for a third call from rank 2, which has
        already left and will never make it.
        B) all_reduce can't know that rank 2 has no more data. To the others, a rank that doesn't
        come looks like a slow one.
        C) Rank 2 did nothing wrong as far as it can tell: it processed its batches and returned.
        The ranks that suffer are the others.
    """),
    "ranks_and_collectives-4": Prediction("""
        A) A message is just bytes: it carries no shape that could be compared with the buffer's.
        (The opposite case, a buffer that is too small, kills the process.)
        B) The receiver doesn't count to five: one receive takes one message, however short it is.
        C* gloo writes the bytes that arrive into the buffer and is done. Two entries keep their old
        values, and no error is raised.
    """),
    "ranks_and_collectives-7": Prediction("""
        A) A collective doesn't know what your variables are called. All it has is the order of the
        calls.
        B* the first call of one rank meets the first call of the other, so rank 0 adds its a to
        rank 1's b, 1 + 20, and then its b to rank 1's a, 10 + 2.
        C) They would wait if the calls didn't fit together, but each is an all-reduce of one float.
        Neither side can see that they're swapped.
    """),
}
