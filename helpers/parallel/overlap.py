"""Start an all-reduce that runs while the rank computes, and record how long it took."""

import torch.distributed as dist


def start_mean(flat, recorder, name=""):
    """Start averaging a tensor in place over all ranks; return a future to wait for."""
    begun = recorder.now()
    future = dist.all_reduce(flat, op=dist.ReduceOp.AVG, async_op=True).get_future()
    if not recorder.enabled:
        return future

    def done(finished):  # torch calls it in another thread
        recorder.add("all-reduce", begun, recorder.now(), name, bytes=flat.nbytes)
        return finished.value()

    return future.then(done)
