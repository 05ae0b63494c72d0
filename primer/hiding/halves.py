"""Layers of experts, in which one half of a batch computes while the other half's tokens travel.

A layer attends, sends each token to its expert (dispatch), runs the experts, and sends the results
back (combine). Each of these needs the one before, so alone a batch can't hide a message. Two can.

One expert a rank. A token's number says to which it goes (hash layers, Roller et al. 2021, arXiv
2106.04426), so that no router stands in the way.
"""

import torch
import torch.distributed as dist


class Layers:
    """The weights (d, d) of each layer: attention, the same on all ranks, and this rank's experts.

    seconds: of attention and of the experts for one half, on paced ranks.
    """

    def __init__(self, attention, experts, seconds=(0.0, 0.0)):
        self.attention, self.experts, self.seconds = attention, experts, seconds

    def pace(self, place):
        """Return the seconds of a piece, forward: attention, experts, …; the last takes none."""
        return self.seconds[place % 2] if place < 2 * len(self.attention) else 0.0


class Wire:
    """Where the tokens of one half go, and how they come back. ids: (N,), their numbers."""

    def __init__(self, ids, rank):
        self.rank, self.order = rank, (ids % rank.size).argsort(stable=True)
        self.back = self.order.argsort()
        give = (ids % rank.size).bincount(minlength=rank.size)
        take = give.clone()
        if dist.is_initialized():
            dist.all_to_all_single(take, give)
        self.give, self.take = give.tolist(), take.tolist()

    def start(self, rows, home=False):
        """Start to send rows to the experts, or `home`; return a function that waits for those
        that come."""
        give, take = (self.take, self.give) if home else (self.give, self.take)

        def post():
            arriving = rows.new_empty(sum(take), rows.shape[1])
            rest = {"group": None, "async_op": True}
            return [dist.all_to_all_single(arriving, rows, take, give, **rest)], arriving

        others = sum(give) - give[self.rank.number]
        size = others * rows[0].nbytes if len(rows) else 0
        return self.rank.send(size, post, like=rows, kind="all-to-all")


class Forward:
    """A half of the batch on its way forward: a piece of computing, a message, a piece …

    Pieces 0, 2, 4, … attend; 1, 3, 5, … are experts; the last one only receives. x: (N, d).
    number: of the half, for pictures.
    """

    def __init__(self, layers, wire, x, number=0):
        self.layers, self.wire, self.rank, self.number = layers, wire, wire.rank, number
        self.left = self.pieces = 2 * len(layers.attention) + 1
        self.came, self.stays = None, x  # what a message brought; what never leaves this rank
        self.coming = None  # waits for the message that is on its way
        self.kept = []  # of each piece: its inputs and its outputs

    def arrive(self):
        """Wait for what the next piece needs."""
        if self.coming:
            self.came, self.coming = self.coming(), None

    def compute(self):
        """Run the next piece, cut off from the one before: backward goes piece by piece too."""
        place, half = self.pieces - self.left, {"micro_batch": self.number}
        inputs = [t if t is None else t.detach().requires_grad_() for t in (self.came, self.stays)]
        outputs = self.rank.compute(self.layers.pace(place), self.piece, place, *inputs, **half)
        self.came, self.stays = (t.detach() for t in outputs)
        self.kept.append((inputs, outputs))

    def piece(self, place, came, stays):
        """Return what leaves and what stays, of what came and what had stayed."""
        if place % 2:
            return (came @ self.layers.experts[place // 2]).tanh(), stays
        if came is not None:
            stays = stays + came[self.wire.back]
        if self.left > 1:
            stays = stays + (stays @ self.layers.attention[place // 2]).tanh()
        return stays[self.wire.order], stays

    def send(self):
        """Start the message with the piece's result: to the experts after attention, else home."""
        place = self.pieces - self.left
        if place < self.pieces - 1:
            self.coming = self.wire.start(self.came, home=bool(place % 2))
        self.left -= 1

    def step(self):
        """Take one piece: wait for what it needs, compute, start the next message."""
        self.arrive()
        self.compute()
        self.send()


class Backward:
    """The same half on its way back. gradient: (N, d), of what stayed after the last piece."""

    def __init__(self, forward, gradient):
        self.forward, self.layers, self.rank = forward, forward.layers, forward.rank
        self.left = forward.pieces
        self.came, self.stays = None, gradient
        self.coming = None

    arrive, step = Forward.arrive, Forward.step

    def compute(self):
        """Go back through the last piece that is left, with `torch.autograd.backward`.

        `self.came` and `self.stays` are the gradients of its two outputs; of the last piece nothing
        left, so there `came` is None. Leave the gradients of its two inputs in their place; to the
        first piece nothing came. `self.rank.compute(seconds, function, …, kind="B")` calls the
        function.
        """
        place = self.left - 1
        (inputs, outputs), seconds = self.forward.kept[place], 2 * self.layers.pace(place)
        # BEGIN SOLUTION HM-3
        pairs = zip(outputs, (self.came, self.stays), strict=True)
        pairs = [pair for pair in pairs if pair[1] is not None]
        roots, gradients = zip(*pairs, strict=True)
        self.rank.compute(seconds, torch.autograd.backward, roots, gradients, kind="B")
        self.came, self.stays = (t if t is None else t.grad for t in inputs)
        # END SOLUTION

    def send(self):
        """Start the message with the gradient of what came, the way it came, if one came."""
        # BEGIN SOLUTION HM-3
        below = self.left - 1
        if below:
            self.coming = self.forward.wire.start(self.came, home=below % 2 == 1)
        self.left = below
        # END SOLUTION


def one_by_one(*passes):  # each through all of its pieces
    for each in passes:
        while each.left:
            each.step()


def in_turn(*passes):
    """Take passes through their pieces in turn, so that one computes while the others' messages
    travel. `step()` takes a pass through one piece, and `left` says how many it has left; all
    have the same number."""
    # BEGIN SOLUTION HM-3
    while passes[0].left:
        for one in passes:
            one.step()
    # END SOLUTION
