"""Random schedules, batches and models on real ranks: the gradients and weights of one device.

What is drawn: which ranks take part, which stage is on which of them, the order of the actions, B
or I and W, waves, how the batch is cut, which targets count, what is frozen, tied ends. Each rank
draws a case from its number, so that only numbers travel.
"""

import itertools
import random

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from helpers.pipeline import Pipeline, add_tied, make_tie
from helpers.ranks import launch
from helpers.schedules import waves

from . import definition

pytestmark = pytest.mark.ranks

RANKS, VOCAB, WIDTH, LENGTH = 4, 7, 5, 3
GROUPS = [ranks for n in (2, 3, 4) for ranks in itertools.combinations(range(RANKS), n)]


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return x + torch.tanh(self.out(self.norm(x)))


class Case:
    """One schedule, one model and the batches of two steps, all drawn from a number."""

    def __init__(self, number):
        draw = random.Random(number)
        self.ranks = draw.choice(GROUPS)
        self.tied, self.adds_up = draw.random() < 0.4, draw.random() < 0.5
        size = len(self.ranks)
        stages = draw.randint(size, 2 * size + 1)
        rank_of = [*range(size), *(draw.randrange(size) for _ in range(stages - size))]
        draw.shuffle(rank_of)
        count = draw.choice([1, 1, 1, 2, 3])
        m = draw.randint(1, 5 if count == 1 else 2)
        self.schedule = waves(definition.drawn(draw, rank_of, m), count)
        # Where the stages begin and end in the model; stages in the middle may be empty.
        self.edges = [0, *sorted(draw.randint(1, 7) for _ in range(stages - 1)), 8]
        self.frozen = draw.choice(["nothing", "some", "a stage", "all but one"])
        self.seed = draw.getrandbits(32)

    def make_stages(self):
        """Return the model, some of whose weights are frozen, and its stages."""
        torch.manual_seed(self.seed)
        layers = [nn.Embedding(VOCAB, WIDTH), *(Layer() for _ in range(6))]
        layers.append(nn.Linear(WIDTH, VOCAB, bias=False))
        if self.tied:
            layers[-1].weight = nn.Parameter(layers[0].weight.detach().clone())  # a copy each
        model = nn.Sequential(*layers).double()
        stages = [model[a:b] for a, b in itertools.pairwise(self.edges)]
        draw, weights = random.Random(self.seed), list(model.parameters())
        frozen = {
            "nothing": [],
            "some": draw.sample(weights, len(weights) // 2),
            "a stage": list(draw.choice(stages).parameters()),
            "all but one": draw.sample(weights, len(weights) - 1),
        }[self.frozen]
        for weight in frozen:
            weight.requires_grad_(False)
        if self.tied:  # one weight: both copies are trained
            model[0].weight.requires_grad_()
            model[-1].weight.requires_grad_()
        return model, stages

    def make_batches(self):
        """Return the inputs and targets of two steps, as one tensor each or cut already."""
        draw, m, batches = random.Random(self.seed + 1), self.schedule.micro_batches, []
        torch.manual_seed(self.seed + 1)
        for _ in range(2):
            sizes = [draw.randint(1, 3) for _ in range(m)]
            ids, targets = (torch.randint(0, VOCAB, (sum(sizes), LENGTH)) for _ in range(2))
            targets[torch.rand(targets.shape) < draw.choice([0, 0.3])] = -100
            parts = list(targets.split(sizes))  # views of targets
            for part in draw.sample(parts, draw.randint(0, m - 1)) if draw.random() < 0.3 else []:
                part.fill_(-100)
            if not (targets != -100).any():
                targets[0, 0] = 1
            cut = draw.random() < 0.5
            batches.append((list(ids.split(sizes)), parts) if cut else (ids, targets))
        return batches


def loss_of(logits, targets):
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


@torch.no_grad()
def update(weights):
    """SGD by hand; the gradients start again at zero."""
    for weight in weights:
        if weight.grad is not None:
            weight -= 0.3 * weight.grad
            weight.grad = None


def train(numbers):
    """Return, on each rank, its stages' last gradients and weights of each case."""
    rank, answers = dist.get_rank(), []
    groups = {ranks: dist.new_group(ranks) for ranks in GROUPS}
    for number in numbers:
        case = Case(number)
        try:
            answers.append(run(case, groups[case.ranks]) if rank in case.ranks else {})
        except Exception as error:
            raise RuntimeError(f"case {number}: {error!r}") from error
    return answers


def run(case, group):
    schedule, mine = case.schedule, case.schedule.stages_of(dist.get_rank(group))
    model, stages = case.make_stages()
    own = {stage: stages[stage] for stage in mine}
    pipeline = Pipeline(schedule, own, group, loss=loss_of)
    tie = make_tie(schedule, group) if case.tied else None
    ends = {0: model[0].weight, schedule.stages - 1: model[-1].weight}
    copies = [ends[stage] for stage in ends if stage in mine]
    weights = [p for stage in own.values() for p in stage.parameters()]
    for step, batch in enumerate(case.make_batches()):
        pipeline.step(*batch)
        if case.tied and (step == 1 or not case.adds_up):
            add_tied(copies, tie)
        if step == 0 and not case.adds_up:
            update(weights)
    return tensors_of(model, {id(weight) for weight in weights})


def tensors_of(model, chosen):
    found = {}
    for name, p in model.named_parameters(remove_duplicate=False):
        if id(p) in chosen:
            found[name] = p.detach().clone()
            if p.grad is not None:
                found[f"gradient of {name}"] = p.grad.clone()
    return found


def one_device(case):
    """Return the same for one device and the whole batch."""
    model, _ = case.make_stages()
    if case.tied:
        model[-1].weight = model[0].weight
    for step, batch in enumerate(case.make_batches()):
        ids, targets = (torch.cat(part) if isinstance(part, list) else part for part in batch)
        loss = loss_of(model(ids), targets)
        if loss.requires_grad:
            loss.backward()
        if step == 0 and not case.adds_up:
            update(model.parameters())
    return tensors_of(model, {id(p) for p in model.parameters()})


@pytest.mark.stress
def test_random_schedules_train_like_one_device(effort, numbers):
    cases = [numbers.getrandbits(32) for _ in range(effort(40, 900))]
    answers = launch(train, RANKS, (cases,), quiet=True, timeout=effort(500, 7000))
    for number, *parts in zip(cases, *answers, strict=True):
        found, right = {}, one_device(Case(number))
        for part in parts:
            assert not found.keys() & part.keys()
            found |= part
        assert found.keys() == right.keys(), f"case {number}"
        for name, tensor in right.items():
            away, largest = (found[name] - tensor).abs().max(), tensor.abs().max()
            assert away <= 1e-8 * largest + 1e-14, f"case {number}: {name} is {away} away"
