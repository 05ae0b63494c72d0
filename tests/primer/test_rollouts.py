"""Two ranks train and two generate: weights arrive whole, and nothing else is learned."""

import pytest
import rollouts
import torch
from torch.distributed.tensor import DTensor

from helpers.ranks import launch

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

LEARNING_RATE = 0.1


def optimizer_of(policy):
    return torch.optim.SGD(policy.parameters(), lr=LEARNING_RATE)


def one_update_and_back():
    """On a rank: all of its weights after one update has been resharded, and the bytes it sent."""
    policy, trains, part = rollouts.make_policy()
    optimizer, draw = optimizer_of(policy), torch.Generator().manual_seed(1)
    if trains:
        rollouts.learn(policy, optimizer, rollouts.receive_half(part))
    else:
        for work in rollouts.send_half(rollouts.generate(policy, draw), part):
            work.wait()
    sent = rollouts.reshard(policy, trains, part)
    held = (p.full_tensor() if isinstance(p, DTensor) else p for p in policy.parameters())
    return [weight.detach() for weight in held], sent


def test_after_an_update_all_ranks_have_the_weights_of_one_device():
    policy = rollouts.Policy()
    before = [p.detach().clone() for p in policy.parameters()]
    made = rollouts.generate(policy, torch.Generator().manual_seed(1))
    rollouts.learn(policy, optimizer_of(policy), made)
    ranks = launch(one_update_and_back, ranks=4, quiet=True)
    for weights, _ in ranks:
        for found, right, old in zip(weights, policy.parameters(), before, strict=True):
            assert (found - right).abs().max() < 1e-12 < (right - old).abs().max()
    size = sum(p.nbytes for p in policy.parameters()) + policy[0].weight.nbytes
    assert sum(sent for _, sent in ranks) == size  # only the embedding is in both generators
    assert [sent for _, sent in ranks[2:]] == [0, 0]


def test_a_sequence_that_counts_on_has_a_reward_of_one():
    tokens = torch.tensor([[6, 7, 0, 1], [3, 3, 3, 3], [0, 1, 5, 6]])
    assert rollouts.reward(tokens).tolist() == [1, 0, 2 / 3]


def test_a_ratio_weights_tokens_by_how_likely_they_have_become():
    """The gradient of old rollouts is that of today's, if each token counts by its ratio."""
    policy, tokens = rollouts.Policy(), torch.tensor([[0, 1], [0, 2]])
    then = policy.log_probs(tokens).detach() - torch.tensor([[0.5], [-0.25]]).double()
    advantage = torch.tensor([1.0, -1.0]).double()
    expected = -(advantage[:, None] * torch.tensor([[0.5], [-0.25]]).double().exp()
                 * policy.log_probs(tokens)).mean()  # fmt: skip
    right = torch.autograd.grad(expected, list(policy.parameters()))
    rollouts.learn(policy, optimizer_of(policy), (tokens, then, advantage))
    for parameter, gradient in zip(policy.parameters(), right, strict=True):
        assert torch.allclose(parameter.grad, gradient, atol=1e-14)
