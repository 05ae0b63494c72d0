"""Torch's own shards, `fully_shard` (FSDP2), and what they send."""

import functools
from collections import Counter

import torch
import torch.distributed as dist
from peak import TOKENS, VOCABULARY, model
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

SENT = {"all_gather_single": 1, "reduce_scatter_single": 1, "all_reduce": 2}  # times the tensor


def sharded(net, mesh, reshard=None):
    """Return the net with each block as a unit; what's left is one more unit."""
    for part in [*net.model.layers, net]:
        fully_shard(part, mesh=mesh, reshard_after_forward=reshard)
    return net


class Sent:
    """The bytes that this process sends from now on, by group, as a ring would send them."""

    def __init__(self):
        self.bytes = Counter()
        for name in SENT:
            setattr(dist, name, self.noting(name, getattr(dist, name)))

    def noting(self, name, send):
        @functools.wraps(send)
        def noted(*given, **named):
            whole = max(t.nbytes for t in (*given, *named.values()) if hasattr(t, "nbytes"))
            group = tuple(dist.get_process_group_ranks(named.get("group") or dist.group.WORLD))
            self.bytes[group] += SENT[name] * whole * (len(group) - 1) / len(group)
            return send(*given, **named)

        return noted


def hybrid_step(shape):
    """On a rank: backward of one sequence on a mesh of this shape.

    shape: (ranks,), or (groups, ranks inside of each). Return how far any gradient is from one
    device's, and {group: volume in times the model}.
    """
    torch.manual_seed(0)
    net, ids = model(width=48, layers=2).double(), torch.randint(VOCABULARY, (4, TOKENS))

    def backward(ids):
        nn.functional.cross_entropy(net(ids).flatten(0, 1), ids.flatten()).backward()

    backward(ids)  # one device reads all four sequences
    right = {name: p.grad.clone() for name, p in net.named_parameters()}
    net.zero_grad()
    whole = sum(p.nbytes for p in net.parameters())
    names = ("across", "inside")[-len(shape) :]
    sharded(net, init_device_mesh("cpu", shape, mesh_dim_names=names))
    sent = Sent()
    backward(ids[dist.get_rank()][None])
    found = {name: p.grad.full_tensor() for name, p in net.named_parameters()}
    far = max((found[name] - right[name]).abs().max().item() for name in right)
    return far, {group: size / whole for group, size in sent.bytes.items()}
