"""Experts on several ranks are experts on one device: losses, gradients and weights, in float64."""

import random

import intro_EP
import pytest
import torch
import torch.distributed as dist
from balance import balance_loss
from dispatch import Dispatch, require_own_tokens
from ring_attention import Ring, ring_attention

from helpers.grid import Grid, make_groups
from helpers.parallel.context import equal_chunks, following, token_loss
from helpers.ranks import RankFailed, launch
from helpers.trace import Recorder
from simplellm.losses import causalLLMLoss
from simplellm.moe import Experts, give_experts, moe_layers
from tests.simplellm.small import small

pytestmark = pytest.mark.ranks

TOLERANCE = 1e-12  # float64, relative to the largest entry of a tensor
VOCABULARY, LENGTH = 40, 6


def cases(ranks):
    """Draw shapes and routings: every way to share experts, with and without a limit."""
    draw = random.Random(ranks)
    for ep in [n for n in (1, 2, 4) if ranks % n == 0]:
        for way in ("as drawn", "all to one expert", "capacity", "loss"):
            experts = ep * draw.choice([1, 2, 3])
            capacity = draw.choice([0.4, 1.0]) if way == "capacity" else None
            more = {"shared": draw.choice([0, 1]), "capacity": capacity}
            sizes = Experts(experts, draw.randint(1, min(3, experts)), **more)
            case = {"ep": ep, "way": way, "seed": draw.randrange(1000), "rows": draw.choice([1, 3])}
            yield case | {"sizes": sizes}


def make(case):
    net = small(case["seed"], vocab_size=VOCABULARY, dmodel=8, num_heads=2, ctx_size=LENGTH)
    give_experts(net, case["sizes"]).double()
    with torch.no_grad():
        for layer in moe_layers(net):
            layer.router.gate.weight *= 50  # tokens differ in where they go
            if case["way"] == "all to one expert":
                layer.router.bias[0] = 9.0
    return net


def tokens(case, rank):
    draw = torch.Generator().manual_seed(100 * case["seed"] + rank)
    return torch.randint(VOCABULARY, (case["rows"], LENGTH), generator=draw)


def loss_of(net, case, rank):
    ids = tokens(case, rank)
    loss = causalLLMLoss(net(ids), ids, VOCABULARY)
    if case["way"] == "loss":
        for layer in moe_layers(net):
            routing = layer.routing
            loss = loss + balance_loss(routing.probabilities, routing.wanted)
    return loss


def gradients(net):
    return {name: p.grad for name, p in net.named_parameters()}


def on_ranks(drawn):
    """On a rank: for each case the loss, the gradients, and what the experts had to do."""
    found = []
    for case in drawn:
        net = make(case)
        shared, replicas = intro_EP.make_groups(case["ep"])
        intro_EP.spread(net, shared)
        loss = loss_of(net, case, dist.get_rank())
        loss.backward()
        intro_EP.average_gradients(net, replicas)
        counts = [layer.routing.counts for layer in moe_layers(net)]
        found.append((loss.item(), gradients(net), torch.stack(counts)))
    return found


def on_ranks_that_share_sequences(case):
    """On a rank of Grid(dp=2, cp=2): the gradients; replicas share experts, and a ring attends."""
    grid, net = Grid(dp=2, cp=2), make(case)
    here, groups = grid.coordinates(dist.get_rank()), make_groups(grid)
    intro_EP.spread(net, groups.dp)
    positions = equal_chunks(LENGTH, grid.cp)
    for block in net.model.layers:
        block.self_attn.mix = ring_attention(Ring(groups.cp, Recorder(0)), positions)
    ids, mine = tokens(case, here.dp), positions[here.cp]
    logits = net(ids[:, mine], positions=mine)
    # A mean over all ranks is due, and each has a term of a sum over the ranks of a sequence.
    loss = grid.cp * token_loss(logits, following(ids)[:, mine], ids[:, 1:].numel())
    loss.backward()
    intro_EP.average_gradients(net, groups.cp)
    return gradients(net)


BESIDE = {"ep": 2, "way": "as drawn", "seed": 5, "rows": 2, "sizes": Experts(4, 2, shared=1)}


def same(right, found):
    return (right - found).abs().max() <= TOLERANCE * max(1e-3, right.abs().max())


def test_ranks_are_one_device_and_so_are_experts_beside_a_ring():
    ranks, drawn = 4, list(cases(4))
    both = launch(
        lambda: (on_ranks(drawn), on_ranks_that_share_sequences(BESIDE)), ranks, quiet=True
    )
    dropped = 0
    for number, case in enumerate(drawn):
        net = make(case)
        losses = [loss_of(net, case, rank) for rank in range(ranks)]
        sum(losses).div(ranks).backward()
        right, seen = gradients(net), set()
        for rank, (found, _) in enumerate(both):
            loss, mine, counts = found[number]
            assert loss == pytest.approx(losses[rank].item(), rel=1e-12), case
            seen |= set(mine)
            for name, gradient in mine.items():
                assert same(right[name], gradient), (case, rank, name)
            wanted = tokens(case, rank).numel() * case["sizes"].top_k
            dropped += 2 * wanted - counts.sum().item()
            if case["way"] != "capacity":
                assert counts.sum() == 2 * wanted
        assert seen == set(right), case
    assert dropped > 0
    net = make(BESIDE)
    sum(loss_of(net, BESIDE, replica) for replica in range(2)).div(2).backward()
    right = gradients(net)
    assert set().union(*(found for _, found in both)) == set(right)
    for _, found in both:
        assert all(same(right[name], gradient) for name, gradient in found.items())


def biases_of_two_forwards():
    """On a rank: the bias after a step of two forwards, and the counts of both, and of the last."""
    rank, case = dist.get_rank(), {"way": "as drawn", "seed": 2, "rows": 1, "sizes": Experts(6, 2)}
    net, wanted = make(case), []
    for forward in range(2):
        net(tokens(case, 2 * forward + rank))
        wanted.append(torch.stack([layer.routing.wanted for layer in moe_layers(net)]))
        dist.all_reduce(wanted[-1])
    intro_EP.balance_after(net, rate=1.0)
    found = torch.stack([layer.router.bias for layer in moe_layers(net)])
    return found, sum(wanted), wanted[-1], [layer.wanted for layer in moe_layers(net)]


def refuse_the_same_tokens():
    ids = torch.arange(6).view(1, 6)
    with pytest.raises(ValueError, match="ranks 0 and 1 read the same tokens"):
        require_own_tokens(ids)
    require_own_tokens(ids + dist.get_rank())
    return biases_of_two_forwards()


def test_the_bias_follows_all_forwards_of_a_step_and_the_same_tokens_are_refused():
    def moves(sums):
        return torch.sign(sums.double().mean(1, keepdim=True) - sums)

    for found, of_both, of_last, left in launch(refuse_the_same_tokens, 2, quiet=True):
        assert torch.equal(found, moves(of_both)) and not torch.equal(found, moves(of_last))
        assert left == [0, 0]


def send_what_does_not_fit():
    take = [1, 1 + (dist.get_rank() == 0)]  # rank 0 expects a row more than rank 1 sends
    Dispatch().send(torch.ones(2, 3), [1, 1], take)


def test_what_cannot_be_is_refused():
    with pytest.raises(RankFailed, match="the parts of a collective have different sizes"):
        launch(send_what_does_not_fit, 2, quiet=True)
