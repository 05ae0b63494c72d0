"""Reinforcement learning on four ranks: two train a policy, two generate with it.

The trainers hold shards of its weights (fully_shard), the generators parts of its layers
(parallelize_module). Before each update the weights travel from one layout to the other. Lesson 22
has the loop. `python rollouts.py` trains on one device, with rollouts of several ages (a minute).
"""

from collections import deque

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

TOKENS, WIDTH, SEQUENCES, LENGTH = 8, 32, 64, 9
PLAN = {"1": ColwiseParallel(), "3": RowwiseParallel()}
CUT = {"1.weight": 0, "3.weight": 1}  # the dimension that PLAN cuts; it copies what isn't here


class Policy(nn.Sequential):
    """What comes after a token: an embedding, two matrices, and a logit for each token."""

    def __init__(self):
        torch.manual_seed(0)
        up = nn.Linear(WIDTH, 4 * WIDTH, bias=False, dtype=torch.double)
        down = nn.Linear(4 * WIDTH, TOKENS, bias=False, dtype=torch.double)
        super().__init__(nn.Embedding(TOKENS, WIDTH, dtype=torch.double), up, nn.Tanh(), down)

    def log_probs(self, tokens):
        """Return the log-probability of each token after the one before it."""
        logs = self(tokens[:, :-1]).log_softmax(-1)
        return logs.gather(-1, tokens[:, 1:, None]).squeeze(-1)


def make_policy():
    """Return this rank's part of the policy, whether it trains, and which of the two it is."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("job", "part"))
    job, part = mesh.get_coordinate()
    policy, trains = Policy(), job == 0
    if trains:
        fully_shard(policy, mesh=mesh["part"])
    else:
        parallelize_module(policy, mesh["part"], PLAN)
    return policy, trains, part


def reshard(policy, trains, part):
    """Send the trainers' weights to the generators; return the bytes that this rank has sent.

    Ranks 0 and 1 train, 2 and 3 generate. A trainer holds half of the rows of every weight. From
    each trainer a generator gets those of its numbers that it needs, and nothing else.
    """
    messages, sent = [], 0
    for name, weight in policy.named_parameters():
        local = (weight.to_local() if isinstance(weight, DTensor) else weight).detach()
        cut = CUT.get(name)
        for other in (0, 1):
            if cut == 0 and other != part:
                continue  # both jobs cut the rows, so these two share none
            if trains:
                piece = local.chunk(2, 1)[other].contiguous() if cut == 1 else local
                messages.append(dist.isend(piece, 2 + other))
                sent += piece.nbytes
            else:
                piece = local if cut == 0 else local.chunk(2)[other]  # a view: the trainer's rows
                messages.append(dist.irecv(piece, other))
    for message in messages:
        message.wait()
    return sent


def reward(tokens):
    """Return for each sequence how often it counts on: 2 after 1, and 0 after 7."""
    return (tokens[:, 1:] == (tokens[:, :-1] + 1) % TOKENS).double().mean(1)


def generate(policy, draw):
    """Return sequences, each token's log-probability, and each sequence's advantage.

    The advantage says how much better than the others a sequence is, in standard deviations.
    """
    with torch.no_grad():
        tokens = torch.randint(TOKENS, (SEQUENCES, 1), generator=draw)
        for _ in range(LENGTH - 1):
            odds = policy(tokens[:, -1]).softmax(-1)
            tokens = torch.cat([tokens, odds.multinomial(1, generator=draw)], 1)
        gain = reward(tokens)
        return tokens, policy.log_probs(tokens), (gain - gain.mean()) / (gain.std() + 1e-6)


def send_half(rollouts, part):
    """Send this generator's half of the rollouts to its trainer; return the works."""
    return [dist.isend(each.chunk(2)[part].contiguous(), part) for each in rollouts]


def receive_half(part):
    """Return the half of the rollouts that this trainer is sent."""
    half = SEQUENCES // 2
    tokens = torch.empty(half, LENGTH, dtype=torch.long)
    rollouts = tokens, torch.empty(half, LENGTH - 1).double(), torch.empty(half).double()
    for each in rollouts:
        dist.recv(each, 2 + part)
    return rollouts


def learn(policy, optimizer, rollouts, weighted=True):
    """Take one step on rollouts, weighted by each token's probability now over that then."""
    tokens, then, advantage = rollouts
    now = policy.log_probs(tokens)
    weight = (now - then).exp() if weighted else now
    optimizer.zero_grad()
    (-advantage[:, None] * weight).mean().backward()
    optimizer.step()


def train_alone(lag, updates, weighted=True, seed=1):
    """Train on one device; return the policy, and the mean reward of each batch of rollouts."""
    policy, draw = Policy(), torch.Generator().manual_seed(seed)
    waiting, rewards = deque(), []
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.03)
    for update in range(-lag, updates):
        waiting.append(generate(policy, draw))
        rewards.append(reward(waiting[-1][0]).mean().item())
        if update >= 0:
            learn(policy, optimizer, waiting.popleft(), weighted)
    return policy, rewards


if __name__ == "__main__":
    for lag, weighted in ((0, True), (1, True), (1, False), (8, True), (8, False)):
        runs = [train_alone(lag, 40, weighted, seed)[1] for seed in range(1, 21)]
        first = [next(k for k, mean in enumerate(run) if mean >= 0.99) for run in runs]
        fallen = sum(min(run[k:]) < 0.9 for run, k in zip(runs, first, strict=True))
        print(f"lag {lag}, {weighted=}: 0.99 after {sum(first) / 20:.1f}; {fallen} fall below 0.9")
