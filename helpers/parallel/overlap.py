"""Start an all-reduce that runs while the rank computes, and record how long it took."""

import torch.distributed as dist


def start_mean(flat, recorder, name="", group=None):
    """Start averaging a tensor in place over a group (all ranks); return a future to wait for."""
    begun = recorder.now()
    future = dist.all_reduce(flat, op=dist.ReduceOp.AVG, group=group, async_op=True).get_future()
    if not recorder.enabled:
        return future

    info = {"bytes": flat.nbytes}
    if group is not None:
        info["group"] = dist.get_process_group_ranks(group)

    def done(finished):  # torch calls it in another thread
        recorder.add("all-reduce", begun, recorder.now(), name, **info)
        return finished.value()

    return future.then(done)
