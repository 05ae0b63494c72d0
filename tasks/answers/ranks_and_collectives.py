from helpers.lesson.asked import Prediction

PREDICTIONS = {
    "ranks_and_collectives-1": Prediction("""
        A) It would if send returned before the receive, as some libraries do with small tensors.
        B* send returns once the receiver has begun to take the data, and both ranks stand in send.
        No rank is left to receive, so neither gets past its send.
        C) Whichever rank comes first waits for the other one to receive, and that one waits, too.
    """),
    "ranks_and_collectives-2": Prediction("""
        A) Rank 4 waits for rank 0, and rank 0 for rank 1, which receives: a chain with an end.
        B) The size makes no difference: gloo's send waits for its receiver at every size.
        C* rank 1 receives first, so rank 0's send goes through; then rank 0 receives, which frees
        rank 4 to receive from rank 3. A deadlock needs a complete circle of waiting ranks: one rank
        that receives first breaks it, as long as not all of them do.
    """),
    "ranks_and_collectives-3": Prediction("""
        A* a collective needs every rank. Ranks 0 and 1 wait for a third call from rank 2, which has
        already left and will never make it.
        B) all_reduce can't know that rank 2 has no more data: it might just be slow.
        C) Rank 2 can't tell that anything is wrong: it processed its batches and returned.
    """),
    "ranks_and_collectives-4": Prediction("""
        A) A message is just bytes: it carries no shape that could be compared with the buffer's.
        B) The receiver doesn't count to five: one receive takes one message, however short it is.
        C* gloo writes the bytes that arrive into the buffer and is done. Two entries keep their old
        values, and no error is raised.
    """),
    "ranks_and_collectives-7": Prediction("""
        A) A collective doesn't know your variables' names: all it has is the order of the calls.
        B* the first call of one rank meets the first call of the other, so rank 0 adds its a to
        rank 1's b, 1 + 20, and then its b to rank 1's a, 10 + 2.
        C) They would if the calls didn't fit together, but each is an all-reduce of one float.
    """),
}
