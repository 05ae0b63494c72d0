"""Send each token once to every member of a group that has experts for it; go on from there.

    y = hop(x, weights, None, mine)                                       to the ranks, directly
    y = hop(x, weights, across, partial(hop, group=inside, then=mine))    to the nodes, then inside

With two hops a token crosses the network between nodes once for each node, however many experts it
has chosen there, and comes back as one row. DeepSeek-V3, arXiv 2412.19437, section 3.2.2.
"""

import torch
import torch.distributed as dist
from dispatch import AllToAll, Dispatch


def hop(x, weights, group, then, recorder=None):
    """Return the weighted sum of what the experts of a group's members make of each token.

    x: (t, d). weights: (t, E), 0 for what a token hasn't chosen; a group of n members divides the E
    experts into n equal parts, in order. then(x, weights): what a member does with what arrives,
    for its part of the experts.
    """
    link, members = Dispatch(group, recorder), dist.get_world_size(group)
    parts = weights.view(len(x), members, -1)
    to = [parts[:, member].any(-1).nonzero()[:, 0] for member in range(members)]
    give = torch.tensor([len(tokens) for tokens in to])
    take = torch.empty_like(give)
    dist.all_to_all_single(take, give, group=group)
    give, take = give.tolist(), take.tolist()
    rows = torch.cat([x[tokens] for tokens in to])
    shares = torch.cat([parts[tokens, member] for member, tokens in enumerate(to)])
    arrived = (AllToAll.apply(each, give, take, link) for each in (rows, shares))
    home = AllToAll.apply(then(*arrived), take, give, link)
    return torch.zeros_like(x).index_add(0, torch.cat(to), home)


def limited(scores, nodes, most, chosen):
    """Return DeepSeek-V3's weights, (t, E): the best experts of each token, on few nodes.

    scores: (t, E), affinities between 0 and 1. most: nodes a token may go to: those whose best
    `chosen / most` experts have the largest sum. chosen: experts of a token. The weights add up to
    1.
    """
    by_node = scores.view(len(scores), nodes, -1)
    best = by_node.topk(chosen // most, -1).values.sum(-1).topk(most, -1).indices
    allowed = torch.zeros(len(scores), nodes).scatter(1, best, 1.0).to(scores)
    top = (by_node * allowed[..., None]).flatten(1).topk(chosen, -1)
    return torch.zeros_like(scores).scatter(1, top.indices, top.values / top.values.sum(-1, True))
