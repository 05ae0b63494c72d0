"""Random schedules, batches and models on real ranks: the gradients and weights of one device.

What is drawn: which ranks take part, which stage is on which of them, the order of the actions, B
or I and W, waves, how the batch is cut, which targets count, what is frozen, tied ends. Each rank
draws a case from its number, so that only numbers travel. `make stress` draws hundreds of new ones;
a run that fails says its seed, and LAB_SEED=… draws the same cases again.
"""

import functools
import itertools
import os
import random

import pytest
import torch
import torch.distributed as dist
from torch import nn

from helpers.pipeline import Pipeline, add_tied, make_tie
from helpers.ranks import launch
from helpers.schedules import waves
from tests.fuzz import definition
from tests.helpers.pipeline.models import LENGTH, VOCAB, loss, make_model

pytestmark = pytest.mark.ranks

RANKS = 4
GROUPS = [ranks for n in (2, 3, 4) for ranks in itertools.combinations(range(RANKS), n)]


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
        self.edges = [0, *sorted(draw.randint(1, 13) for _ in range(stages - 1)), 14]
        self.frozen = draw.choice(["nothing", "some", "a stage", "all but one"])
        self.seed = draw.getrandbits(32)

    def make_stages(self):
        """Return the model, some of whose weights are frozen, and its stages."""
        model = make_model()
        if self.tied:
            model[-1][-1].weight = nn.Parameter(model[0].weight.detach().clone())  # a copy each
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
            model[-1][-1].weight.requires_grad_()
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


def whole_step(model, *batch):
    """Add the gradients of a batch to those of the model, on one device."""
    ids, targets = (torch.cat(part) if isinstance(part, list) else part for part in batch)
    total = loss(model(ids), targets)
    if total.requires_grad:
        total.backward()


def run(case, group=None):
    """Return this rank's last gradients and weights by their names, or those of one device."""
    model, stages = case.make_stages()
    first, last = model[0], model[-1][-1]
    if group is None:
        own, copies, step = dict(enumerate(stages)), [], functools.partial(whole_step, model)
        if case.tied:
            last.weight = first.weight
    else:
        own = {s: stages[s] for s in case.schedule.stages_of(dist.get_rank(group))}
        step = Pipeline(case.schedule, own, group, loss=loss).step
        tie = make_tie(case.schedule, group) if case.tied else None
        copies = [end.weight for end, s in ((first, 0), (last, len(stages) - 1)) if s in own]
    weights = [p for stage in own.values() for p in stage.parameters()]
    for number, batch in enumerate(case.make_batches()):
        step(*batch)
        if group and case.tied and (number == 1 or not case.adds_up):
            add_tied(copies, tie)
        if number == 0 and not case.adds_up:
            torch.optim.SGD(model.parameters(), 0.3).step()
            model.zero_grad()
    found, chosen = {}, {id(weight) for weight in weights}
    for name, p in model.named_parameters(remove_duplicate=False):
        if id(p) in chosen:
            found[name] = p.detach()
            if p.grad is not None:
                found[f"gradient of {name}"] = p.grad
    return found


def train(numbers):
    """Return, on each rank, what `run` gives of each case."""
    rank, answers = dist.get_rank(), []
    groups = {ranks: dist.new_group(ranks) for ranks in GROUPS}
    for number in numbers:
        case = Case(number)
        try:
            answers.append(run(case, groups[case.ranks]) if rank in case.ranks else {})
        except Exception as error:
            raise RuntimeError(f"case {number}: {error!r}") from error
    return answers


@pytest.mark.stress
@pytest.mark.timeout(7200)
def test_random_schedules_train_like_one_device():
    many = int(os.environ.get("LAB_REPEAT", 3)) >= 100
    seed = int(os.environ.get("LAB_SEED", random.randrange(1 << 32) if many else 7))
    print(f"LAB_SEED={seed}")  # pytest shows it where the test fails
    draw = random.Random(seed)
    cases = [draw.getrandbits(32) for _ in range(900 if many else 40)]
    answers = launch(train, RANKS, (cases,), quiet=True, timeout=7000 if many else 500)
    for number, *parts in zip(cases, *answers, strict=True):
        found, right = {}, run(Case(number))
        for part in parts:
            assert not found.keys() & part.keys()
            found |= part
        assert found.keys() == right.keys(), f"case {number}"
        for name, tensor in right.items():
            away, largest = (found[name] - tensor).abs().max(), tensor.abs().max()
            assert away <= 1e-8 * largest + 1e-14, f"case {number}: {name} is {away} away"
