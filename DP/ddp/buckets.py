"""Average gradients in buckets, while backward goes on: few messages, and they overlap.

This is what torch's DistributedDataParallel does (Li et al. 2020, arXiv 2006.15704, section 3). A
bucket is one flat tensor; the gradients of its parameters become views of it. Where they stay so
(`zero_grad(set_to_none=False)`) nothing is copied.

All ranks must start their all-reduces in the same order, so buckets leave in their own. Backward
computes the last layers first, so the first bucket holds the last parameters; after the first
backward the buckets are made anew, as gradients became complete on rank 0: tied weights come last.
"""

import torch
import torch.distributed as dist

from helpers.parallel.overlap import start_mean

MB = 2**20


class Bucket:
    """Some parameters, and one flat tensor that holds their gradients. left: not complete yet."""

    def __init__(self, parameters):
        self.parameters, sizes = parameters, [p.numel() for p in parameters]
        self.flat = parameters[0].new_zeros(sum(sizes))
        parts = zip(parameters, self.flat.split(sizes), strict=True)
        self.views = {p: part.view_as(p) for p, part in parts}
        self.left, self.mean = len(parameters), None

    def take(self, p):
        """Have the gradient of a parameter in the flat tensor, and let `p.grad` be that place."""
        view = self.views[p]
        if p.grad is None:
            view.zero_()  # this rank has not used the parameter: its share of the mean is 0
        elif p.grad.data_ptr() != view.data_ptr():
            view.copy_(p.grad)
        p.grad = view


class Buckets:
    """Averages the gradients of a model: build it once, call `finish` after each backward.

    megabytes: of a bucket, at most; a single larger parameter has one of its own. first: of the
    first bucket, which should leave early.
    """

    def __init__(self, model, recorder, megabytes=25.0, first=1.0):
        self.recorder, self.sizes = recorder, (min(first, megabytes) * MB, megabytes * MB)
        parameters = [p for p in model.parameters() if p.requires_grad]
        self.numbers = {p: number for number, p in enumerate(parameters)}
        self.seen = {}  # the parameters, in the order in which their gradients became complete
        self.active = True  # False: only add gradients up, for a later backward to average
        self.reordered = False
        self.fill(parameters[::-1])
        for p in parameters:
            p.register_post_accumulate_grad_hook(self.complete)

    def fill(self, parameters):
        """Make the buckets from parameters in this order."""
        groups, room = [], 0.0
        for p in parameters:
            if not groups or p.nbytes > room or p.dtype != groups[-1][0].dtype:
                room = self.sizes[len(groups) > 0]  # the first bucket is smaller
                groups.append([])
            groups[-1].append(p)
            room -= p.nbytes
        self.buckets = [Bucket(group) for group in groups]
        self.bucket_of = {p: bucket for bucket in self.buckets for p in bucket.parameters}
        self.next = 0  # the bucket that leaves next

    def complete(self, p):
        """Autograd calls this with a parameter whose gradient is complete.

        Its gradient goes into its bucket (`take`). Every bucket that may leave now, leaves
        (`leave`): one of which no gradient is missing (`left`), after all buckets before it.
        `self.next` is the number of the bucket that leaves next.
        """
        if not self.active:
            return
        self.seen[p] = None
        # BEGIN SOLUTION DP-4
        bucket = self.bucket_of[p]
        bucket.take(p)
        bucket.left -= 1
        while self.next < len(self.buckets) and self.buckets[self.next].left == 0:
            self.leave(self.buckets[self.next])
            self.next += 1
        # END SOLUTION

    def leave(self, bucket):
        """Start the all-reduce of a bucket; backward goes on."""
        bucket.mean = start_mean(bucket.flat, self.recorder, f"bucket {self.next}")

    def finish(self):
        """Every rank has the mean of all ranks' gradients, in place."""
        for bucket in self.buckets[self.next :]:  # with parameters that this rank did not use
            for p in bucket.parameters:
                if p not in self.seen:
                    bucket.take(p)
            self.leave(bucket)
            self.next += 1
        for bucket in self.buckets:
            bucket.mean.wait()
            bucket.left = len(bucket.parameters)
        self.next = 0
        if not self.reordered:
            self.reorder()
        self.seen.clear()

    def reorder(self):
        """Make the buckets anew, in the order in which gradients became complete on rank 0."""
        self.reordered = True
        order = [self.numbers[p] for p in self.seen]
        order += [number for number in self.numbers.values() if number not in order]
        agreed = torch.tensor(order, device=self.buckets[0].flat.device)
        dist.broadcast(agreed, 0)
        parameters = list(self.numbers)
        before = {p: p.grad for p in parameters}
        self.fill([parameters[number] for number in agreed.tolist()])
        for p in parameters:
            p.grad = before[p]
            self.bucket_of[p].take(p)
