"""Five minutes on a slow link: the lowest loss wins, by any method.

    def method(group):
        while True:
            group.compute()
            group.all_reduce(group.gradients())
            group.update()

    print(score(method))

Three replicas of a small model train in this process, and a simulated clock says what it would take
on three machines: a second for each forward and backward, and for an all-reduce what its bytes take
around a ring over a link of 1 Mbit/s. When the time is up, the method is stopped where it stands.
"""

import copy
from dataclasses import dataclass

import torch
from local_steps import RANKS, TINY, backward, loss_of, stories_to_judge

from simplellm.options import TrainingFlags, prepare, stories_of_ranks

BUDGET = 300.0  # seconds
COMPUTE, LATENCY, BANDWIDTH = 1.0, 0.1, 125e3  # seconds, seconds, bytes a second


class TimeIsUp(Exception):
    """The five minutes are over; `score` catches it."""


class Group:
    """Three replicas that start from the same weights, and the clock.

    nets: the replicas. optimizers: one for each; a method may put others in their place.
    seconds, computed, sent: simulated seconds, forward-backward passes, and bytes a rank has sent.
    """

    def __init__(self, seed=0, budget=BUDGET):
        options = TrainingFlags("", batch_size=RANKS).parse_args([*TINY, "--seed", str(seed)])
        self.tokenizer, first = prepare(options, "cpu")
        self.nets = [first, *(copy.deepcopy(first) for _ in range(RANKS - 1))]
        self.optimizers = [torch.optim.Adam(net.parameters(), lr=6e-3) for net in self.nets]
        self.stories = stories_of_ranks(options, self.tokenizer, RANKS)
        self.held_out = stories_to_judge(options, self.tokenizer)
        self.budget, self.seconds, self.computed, self.sent = budget, 0.0, 0, 0

    def weights(self):
        """For each replica the list of its weights."""
        return [[p.data for p in net.parameters()] for net in self.nets]

    def gradients(self):
        """For each replica the list of its gradients."""
        return [[p.grad for p in net.parameters()] for net in self.nets]

    def compute(self):
        """Forward and backward of every replica, each on a sequence of its own."""
        self._spend(COMPUTE)
        for net, ids in zip(self.nets, next(self.stories).split(1), strict=True):
            backward(net, ids, self.tokenizer)
        self.computed += 1

    def update(self):
        """A step of each replica's optimizer."""
        for optimizer in self.optimizers:
            optimizer.step()

    def all_reduce(self, tensors):
        """Put the mean over the replicas in the place of each tensor: float16 takes half the time.

        tensors: for each replica a list of as many tensors.
        """
        size = sum(tensor.nbytes for tensor in tensors[0])
        moved = 2 * (RANKS - 1) / RANKS * size  # around a ring
        self._spend(2 * (RANKS - 1) * LATENCY + moved / BANDWIDTH)
        self.sent += moved
        with torch.no_grad():
            for same in zip(*tensors, strict=True):
                mean = torch.stack([tensor.double() for tensor in same]).mean(0)
                for tensor in same:
                    tensor.copy_(mean)

    @torch.no_grad()
    def loss(self):
        """The mean of the replicas' losses on stories that nobody has read."""
        found = (loss_of(net, self.held_out, self.tokenizer).item() for net in self.nets)
        return sum(found) / RANKS

    def _spend(self, seconds):
        if self.seconds + seconds > self.budget:
            raise TimeIsUp
        self.seconds += seconds


@dataclass(frozen=True)
class Score:
    """What a method reached. loss: nats a token on new stories, the lower the better."""

    loss: float
    computed: int
    megabytes: float
    seconds: float

    def __str__(self):
        spent = f"{self.computed} steps and {self.megabytes:.1f} MB, {self.seconds:.0f} s"
        return f"loss {self.loss:.3f} after {spent}"


def score(method, seed=0, budget=BUDGET):
    """Run `method(group)` until the simulated time is up, and return its `Score`."""
    group = Group(seed, budget)
    try:
        method(group)
    except TimeIsUp:
        pass
    return Score(group.loss(), group.computed, group.sent / 1e6, group.seconds)
