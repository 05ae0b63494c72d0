"""Split the all-reduce: gradients are scattered behind backward, weights gathered behind forward.

An all-reduce is a reduce-scatter and an all-gather. Nothing needs the gathered half before the next
forward, so it can travel then. Between the two each rank has the mean of its own part, takes the
optimizer's step there, and what is gathered are weights (Megatron-LM's `--overlap-param-gather`;
ZeRO 1 and 2 are this, with the optimizer's state cut as well).
"""

import torch
import torch.distributed as dist
from buckets import Buckets


class Split(Buckets):
    """Buckets that update the weights too, by SGD: call `finish` after each backward.

    Weights arrive in the next forward, each bucket's just before the first layer that needs it;
    `arrive_all` waits for the rest.
    """

    def __init__(self, model, recorder, rate, megabytes=25.0):
        super().__init__(model, recorder, megabytes, megabytes)
        self.rate, self.gathering = rate, {}
        for module in model.modules():
            if parameters := list(module.parameters(recurse=False)):
                module.register_forward_pre_hook(lambda *_, own=parameters: self.arrive(own))

    def leave(self, bucket):
        """Start the reduce-scatter of a bucket; backward goes on."""
        n = dist.get_world_size()
        flat = torch.nn.functional.pad(bucket.flat, (0, -len(bucket.flat) % n))
        bucket.mine = flat.new_empty(len(flat) // n)
        mean = dist.ReduceOp.AVG
        bucket.mean = dist.reduce_scatter_tensor(bucket.mine, flat, op=mean, async_op=True)

    def finish(self):
        """Update this rank's part of each bucket, and start gathering the weights."""
        buckets = self.buckets
        super().finish()  # every part has its mean
        for bucket in reversed(buckets):  # in the order in which forward needs them
            n, size = dist.get_world_size(), len(bucket.mine)
            weights = torch.cat([p.data.flatten() for p in bucket.parameters])
            whole = torch.nn.functional.pad(weights, (0, n * size - len(weights)))
            mine = whole[dist.get_rank() * size :][:size] - self.rate * bucket.mine
            gather = dist.all_gather_into_tensor(whole, mine, async_op=True)
            self.gathering |= dict.fromkeys(bucket.parameters, (gather, whole, bucket))

    def arrive(self, parameters):
        """Wait for the new weights of some parameters, and of the others in their bucket."""
        for p in parameters:
            if p not in self.gathering:
                continue
            gather, whole, bucket = self.gathering[p]
            gather.wait()
            parts = whole[: len(bucket.flat)].split([q.numel() for q in bucket.parameters])
            for q, part in zip(bucket.parameters, parts, strict=True):
                q.data.copy_(part.view_as(q))
                del self.gathering[q]

    def arrive_all(self):
        self.arrive(list(self.gathering))
