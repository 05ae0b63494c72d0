"""Send less: communication hooks that DistributedDataParallel calls in place of its all-reduce.

    python intro_DDP.py --average ddp --compress half       16 bits a number
    python intro_DDP.py --average ddp --compress top        the largest of a hundred gradients

A hook gets a bucket and returns a future with the mean.
"""

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook


class TopK:
    """Send only the largest gradients, as pairs of value and place.

    share: of the numbers that are sent. feedback: keep what was not sent, and add it to the
    gradient of the next step, so that nothing is lost, only late (Stich et al. 2018, arXiv
    1809.07599; Lin et al. 2017, arXiv 1712.01887).
    """

    def __init__(self, share, feedback=True):
        self.share, self.feedback = share, feedback
        self.left = {}  # of each bucket: what was not sent

    def send(self, _, bucket):
        """Return a future with the mean of what the ranks have sent: the hook."""
        gradient = bucket.buffer()
        before = self.left.get(bucket.index())
        if self.feedback and before is not None and before.shape == gradient.shape:
            gradient = gradient + before
        places = largest(gradient, self.share)
        values = gradient[places]
        self.left[bucket.index()] = gradient.index_fill(0, places, 0.0)
        mean = torch.zeros_like(gradient)
        for pair in zip(everyone(values), everyone(places), strict=True):
            mean.index_add_(0, pair[1], pair[0] / dist.get_world_size())
        done = torch.futures.Future()
        done.set_result(mean)
        return done


def largest(gradient, share):
    """Return the places of the largest numbers of a flat gradient."""
    return gradient.abs().topk(max(1, round(share * gradient.numel()))).indices


def keep_largest(gradient, share):
    """Return a gradient of which only the largest numbers are left, and the rest of it."""
    rest = gradient.index_fill(0, largest(gradient, share), 0.0)
    return gradient - rest, rest


def everyone(tensor):
    """Return what each rank has brought."""
    found = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(found, tensor)
    return found


# --compress: what makes the hook of a model.
HOOKS = {
    "half": lambda: fp16_compress_hook,
    "top": lambda: TopK(0.01).send,
    "top-lossy": lambda: TopK(0.01, feedback=False).send,
}
