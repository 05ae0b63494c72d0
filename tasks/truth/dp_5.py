"""DP-5: what each rank holds after a reduce-scatter and an all-gather; and the ways to miss it."""

import torch

RANKS = 3


def cases(seed):
    """Draw parameters whose number no rank count divides, with and without a missing gradient."""
    draw = torch.Generator().manual_seed(seed)
    rows = 3 * int(torch.randint(1, 4, (), generator=draw)) + 1  # so 5 rows + 3 leaves a rest of 2

    def some(*shape):
        return torch.randint(-90, 90, shape, generator=draw).double()

    def gradients(unused):
        return [
            [[some(rows, 5), None if unused else some(3)] for _ in range(RANKS)] for _ in range(2)
        ]

    return [
        {"parameters": [some(rows, 5), some(3)], "gradients": gradients(unused)}
        for unused in (False, True)
    ]


def name(case):
    return "a parameter without a gradient" if case["gradients"][0][0][1] is None else ""


def flat(tensors, shapes):
    """Concatenate, with zeros for what is None, and pad until RANKS divides the length."""
    pieces = [
        torch.zeros(p.shape).double() if t is None else t
        for t, p in zip(tensors, shapes, strict=True)
    ]
    whole = torch.cat([piece.flatten() for piece in pieces])
    return torch.cat([whole, torch.zeros(-len(whole) % RANKS).double()])


def unflat(whole, shapes):
    lengths = [p.numel() for p in shapes]
    parts = whole[: sum(lengths)].split(lengths)
    return [part.view(p.shape) for part, p in zip(parts, shapes, strict=True)]


def truth(case, fold=None, adds=True, frees=True, part=None, gathers=None, named=True):
    """What each rank has.

    fold: makes one of the ranks' flat gradients; by default their mean. adds: to the gradient that
    is there. part, gathers: (rank, whole) -> the rank's part, and what `gather` leaves there.
    """
    shapes = case["parameters"]
    fold = fold or (lambda rank, flats: sum(flats) / RANKS)
    part = part or (lambda rank, whole: whole.chunk(RANKS)[rank])
    size = flat(shapes, shapes).nbytes
    whole = torch.cat([c + 1 + r for r, c in enumerate(flat(shapes, shapes).chunk(RANKS))])
    found = []
    for rank in range(RANKS):
        first, second = (
            part(rank, fold(rank, [flat(g, shapes) for g in gradients]))
            for gradients in case["gradients"]
        )
        gathered = gathers(rank, whole) if gathers else whole
        found.append(
            {
                "mine.grad after the first average()": first,
                "mine.grad after the second average()": first + second if adds else second,
                "p.grad afterwards": [None] * 2 if frees else list(case["gradients"][1][rank]),
                "parameters after gather()": unflat(gathered, shapes),
                "sent": [
                    ("reduce-scatter", size),
                    ("reduce-scatter", size),
                    ("all-gather", size),
                ]
                if named
                else [],
            }
        )
    return found


def own(rank, whole):
    """Only this rank's part of the weights is new; the rest is still zero."""
    parts = [torch.zeros_like(part) for part in whole.chunk(RANKS)]
    parts[rank] = whole.chunk(RANKS)[rank]
    return torch.cat(parts)


MISTAKES = {
    f"the gradient is the sum over the ranks, {RANKS} times too large: dist.ReduceOp.AVG": {
        "fold": lambda rank, flats: sum(flats)
    },
    "each rank has its own gradient: nothing was added up over the ranks": {
        "fold": lambda rank, flats: flats[rank]
    },
    "the gradient is divided twice, by AVG and by you": {
        "fold": lambda rank, flats: sum(flats) / RANKS**2
    },
    "a second average() forgets the first: add to mine.grad if there is one already": {
        "adds": False
    },
    "the parameters keep their gradients: set p.grad to None, or nothing is saved": {
        "frees": False
    },
    "mine.grad is the whole gradient: this rank keeps its part only": {
        "part": lambda rank, whole: whole
    },
    "every rank has the part of rank 0": {"part": lambda rank, whole: whole.chunk(RANKS)[0]},
    "gather() fills this rank's part only: the parameters need those of all ranks": {
        "gathers": own
    },
    "gather() changes no parameter: all_gather must write into views of self.whole": {
        "gathers": lambda rank, whole: torch.zeros_like(whole)
    },
    "nothing is recorded: send inside self.recorder.span(…)": {"named": False},
}
