"""A real training step on ranks that are simulated by loops, each part of which can be spoiled."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from helpers.oracle import between, judge, one_step, snapshot
from helpers.oracle.step import KINDS

WORDS, WIDTH = 11, 5
UNEQUAL = (3, 9, 4, 7, 12, 5)  # tokens of six micro-batches


class Model(torch.nn.Module):
    """Words in, words out; `middle` is frozen."""

    def __init__(self, tied=False):
        super().__init__()
        self.embed = torch.nn.Embedding(WORDS, WIDTH)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.middle = torch.nn.Parameter(torch.ones(WIDTH), requires_grad=False)
        self.head = torch.nn.Linear(WIDTH, WORDS, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = x + torch.tanh(layer(x)) * self.middle
        return self.head(x)


def make_model(seed=0, tied=False, dtype=torch.float32):
    torch.manual_seed(seed)
    return Model(tied).to(dtype)


def loss_of(model, ids):
    """The mean loss and the number of tokens that it is the mean of."""
    return torch.nn.functional.cross_entropy(model(ids[:-1]), ids[1:]), len(ids) - 1


def make_batches(lengths, seed=1):
    draw = torch.Generator().manual_seed(seed)
    return [torch.randint(WORDS, (length + 1,), generator=draw) for length in lengths]


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.5)


def adam(parameters):
    return torch.optim.Adam(parameters, lr=0.01)


def changed(step, change):
    """The step with other weights and gradients: `change` of each of its dicts."""
    return replace(step, **{kind: change(getattr(step, kind)) for kind in KINDS})


def right_weight(here, tokens):
    """So that the mean over the ranks of the sums is the mean over all tokens."""
    return tokens * here.n_ranks / sum(here.lengths)


def mean_over_ranks(here, group=None, divide=True, dtype=None):
    """Every rank gets the mean of the gradients of the ranks in `group`, added up in `dtype`."""
    models = [here.models[rank] for rank in group or range(here.n_ranks)]
    for parameters in zip(*(model.parameters() for model in models), strict=True):
        if parameters[0].grad is not None:
            total = sum(p.grad.to(dtype) for p in parameters).to(parameters[0].dtype)
            for p in parameters:
                p.grad.copy_(total / len(models) if divide else total)


def step_all(here):
    for optimizer in here.optimizers:
        optimizer.step()


@dataclass
class Lab:
    """Ranks that train right; a test replaces what it wants to spoil by another function."""

    n_ranks: int = 3
    lengths: tuple[int, ...] = (6,) * 6
    dtype: torch.dtype = torch.float32
    tied: bool = False
    make_optimizer: Callable = sgd
    seeds: tuple[int, ...] | None = None
    change: Callable = lambda here: None  # before the step
    taken: Callable = list  # of a rank's micro-batches, those that it goes through
    weight: Callable = right_weight  # of a loss, by its tokens
    clear: bool = False  # zero_grad before each backward
    average: Callable = mean_over_ranks
    step: Callable = step_all
    told: Callable = dict  # what is told of the weights, or the gradients, that a rank has

    def __post_init__(self):
        self.micro_batches = make_batches(self.lengths)
        self.model = make_model(tied=self.tied, dtype=self.dtype)
        self.right = one_step(self.model, loss_of, self.micro_batches, self.make_optimizer)
        self.models = [copy.deepcopy(self.model) for _ in range(self.n_ranks)]
        if self.seeds:
            self.models = [make_model(seed, self.tied, self.dtype) for seed in self.seeds]
        self.optimizers = [self.make_optimizer(list(m.parameters())) for m in self.models]

    def train(self):
        self.change(self)
        before, each = [snapshot(m) for m in self.models], len(self.lengths) // self.n_ranks
        for rank, model in enumerate(self.models):
            for ids in self.taken(self.micro_batches[rank * each : (rank + 1) * each]):
                if self.clear:
                    model.zero_grad()
                loss, tokens = loss_of(model, ids)
                (loss * self.weight(self, tokens)).backward()
        self.average(self)
        self.step(self)
        after = [snapshot(m) for m in self.models]
        steps = [between(b, a) for b, a in zip(before, after, strict=True)]
        return [changed(step, self.told) for step in steps]

    def judge(self):
        return judge(self.right, self.train())
