"""HM-3: two halves of a batch that take turns in layers of experts."""

import torch
import torch.distributed as dist

HINTS = (
    "A piece has two outputs, what leaves and what stays, and each has a gradient; in the last "
    "piece only what stays has one. What came by a message goes back the same way: to the experts "
    "where the results had come home. What may the other half compute meanwhile?",
    "compute: zip outputs and (self.came, self.stays), leave out a None, rank.compute(seconds, "
    "torch.autograd.backward, outputs, gradients, kind=…), then take the two .grad. send: like "
    "Forward.send, with forward.wire. in_turn: while the first has pieces left, take a step of "
    "each.",
)
LESSON, MINUTES, RANKS = "hiding_messages", 25, 2
MOST = 20  # pieces: a pass that never ends is stopped


class Plain:
    """A rank that computes and sends, and notes the seconds that backward is told."""

    def __init__(self):
        self.number, self.size = dist.get_rank(), dist.get_world_size()
        self.told = []

    def compute(self, seconds, function, *inputs, kind="F", **info):
        if kind == "B":
            self.told.append(seconds)
        return function(*inputs)

    def send(self, size, post, like=None, kind="send"):
        works, arriving = post()
        return lambda: ([work.wait() for work in works], arriving)[1]


class Fake:
    """A pass that only notes what is done with it."""

    def __init__(self, name, pieces, notes):
        self.name, self.left, self.notes, self.coming = name, pieces, notes, False

    def arrive(self):
        if self.coming:
            self.notes.append(f"wait {self.name}")
        self.coming = False

    def compute(self):
        self.notes.append(f"compute {self.name}")

    def send(self):
        self.left -= 1
        if self.left:
            self.notes.append(f"send {self.name}")
            self.coming = True

    def step(self):
        self.arrive()
        self.compute()
        self.send()


def observe(module, case):
    """On a rank: the order of `in_turn`, and all gradients of a batch that goes back alone."""
    notes, rank, mine = [], Plain(), case["ranks"][dist.get_rank()]
    module.in_turn(*(Fake(name, case["pieces"], notes) for name in "ab"))
    attention = [w.clone().requires_grad_() for w in case["attention"]]
    experts = [w[dist.get_rank()].clone().requires_grad_() for w in case["experts"]]
    layers = module.Layers(attention, experts, (0.5, 0.25))
    ahead = module.Forward(layers, module.Wire(mine["ids"], rank), mine["x"].clone())
    module.one_by_one(ahead)
    back = module.Backward(ahead, mine["gradient"].clone())
    for _ in range(MOST):
        if back.left:
            back.step()
    return {
        "the order of in_turn": notes,
        "pieces left": back.left,
        "seconds of the pieces": rank.told,
        "the gradient of x": back.stays,
        "of the attention": [w.grad for w in attention],
        "of the experts": [w.grad for w in experts],
    }


def cases():
    """Draw two layers; as many tokens go from each rank to another as come back."""
    width = 3

    def some(*shape):
        return torch.randn(*shape, dtype=torch.double)

    ranks, counts = [], torch.randint(1, 4, (RANKS, RANKS))
    for row in counts + counts.T:
        to = torch.arange(RANKS).repeat_interleave(row)
        ids = to[torch.randperm(len(to))] + 6
        ranks.append({"ids": ids, "x": some(len(ids), width), "gradient": some(len(ids), width)})
    experts = [[some(width, width) for _ in range(RANKS)] for _ in range(2)]
    attention = [some(width, width) for _ in range(2)]
    pieces = 2 * int(torch.randint(2, 4, ())) + 1
    return [{"pieces": pieces, "attention": attention, "experts": experts, "ranks": ranks}]


LOOP = "while passes[0].left:\n    for one in passes:"
KEEP = "if pair[1] is not None"
COMING = "self.coming = self.forward.wire.start(self.came, home=below % 2 == 1)"
MUTANTS = {
    (LOOP, "for one in passes:\n    while one.left:"): "in_turn takes one pass to its end before "
    "the other begins, so nothing computes while a message travels",
    ("one.step()", "for each in passes:\n    each.arrive()\none.step()"): "in_turn waits for both "
    "messages before either half computes: wait only for the one whose turn it is",
    (COMING, "self.coming = lambda came=self.came: came"): "no gradient travels: what came by a "
    "message has a gradient that has to go back to where it came from",
    (KEEP, f"{KEEP} and (self.came is None or pair[1] is self.came)"): "the gradient of what "
    "stayed is lost: a token's own value, to which the results are added, has one too",
}
