"""A mixture of experts is the loop over its tokens, and wrong input gets one sentence."""

import copy

import pytest
import torch

from simplellm.config import Config
from simplellm.moe import Experts, MoE, give_experts, moe_layers
from tests.simplellm.small import small

CONFIG = Config(dmodel=8, num_heads=2, hidden_dim=24, n_layers=1)


def layer(**sizes):
    torch.manual_seed(0)
    made = MoE(CONFIG, Experts(**sizes)).double()
    with torch.no_grad():
        for p in made.parameters():
            p.normal_()
    return made


def by_token(made, x):
    """The same with a loop over tokens and choices, first choices before second ones."""
    sizes, y = made.router.experts, torch.zeros_like(x)
    probabilities = (x @ made.router.gate.weight.T).softmax(-1)
    chosen = [(p + made.router.bias).argsort(descending=True)[: sizes.top_k] for p in probabilities]
    taken = [0] * sizes.experts
    for slot in range(sizes.top_k):
        for n, token in enumerate(x):
            e = int(chosen[n][slot])
            taken[e] += 1
            if taken[e] <= sizes.places(len(x)):
                weight = probabilities[n, e]
                if sizes.top_k > 1:
                    weight = weight / probabilities[n, chosen[n]].sum()
                y[n] += weight * made.experts[str(e)](token)
    return y + made.shared(x) if made.shared else y


@pytest.mark.parametrize(
    "sizes",
    [
        {"experts": 3, "top_k": 1, "shared": 2},
        {"experts": 4, "top_k": 4, "hidden_dim": 6},
        {"experts": 5, "top_k": 2, "capacity": 0.5},
        {"experts": 4, "top_k": 1, "capacity": 0.01},
    ],
)
def test_it_is_the_loop_over_tokens(sizes):
    made = layer(**sizes)
    x = torch.randn(20, 8, dtype=torch.double)
    assert torch.allclose(made(x), by_token(made, x), atol=1e-12)
    each = made.routing.wanted
    made.router.bias[0] = 5.0  # all to one expert
    assert torch.allclose(made(x), by_token(made, x), atol=1e-12)
    assert made.routing.wanted[0] == 20
    assert made.routing.counts[0] == min(20, made.router.experts.places(20))
    made(x).sum().backward()
    assert all(p.grad is not None for p in made.experts.parameters())  # of idle experts too
    made.eval()(x)
    assert torch.equal(made.wanted, each + 2 * made.routing.wanted)  # of all batches of training


def test_no_expert_and_a_router_that_is_not_a_number_are_one_sentence():
    with pytest.raises(ValueError, match="cannot choose 0 of 2 experts"):
        Experts(experts=2, top_k=0)
    made = layer()
    made.router.gate.weight.data[0, 0] = float("nan")
    with pytest.raises(FloatingPointError, match="the router's probabilities are not numbers"):
        made(torch.ones(2, 8, dtype=torch.double))


def test_half_precision_keeps_the_bias_and_the_probabilities_in_float32():
    net = small(n_layers=1)
    (made,) = moe_layers(give_experts(net.bfloat16(), Experts(4, 2)))
    assert 2 * made.experts["0"].up_proj.weight.numel() == 4 * 24 * 24  # two cost what one did
    made.router.bias += 0.3
    made.router.bias += 0.001  # in bfloat16, 0.3 stays 0.3
    net.to("cpu").bfloat16()
    assert torch.allclose(made.router.bias, torch.full((4,), 0.301))
    assert net(torch.arange(8).view(1, 8)).dtype == torch.bfloat16
    assert made.routing.probabilities.dtype == made.routing.weights.dtype == torch.float32
    assert moe_layers(copy.deepcopy(net).double())[0].router.bias.dtype == torch.float64
