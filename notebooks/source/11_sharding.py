# %% [markdown]
# # Sharding: no rank keeps what another keeps
#
# *Reading 40 minutes · tasks 85 · machine 2*
#
# *With twenty minutes: read up to the picture of the four stages, then do DP-6.*
#
# Data parallelism wastes memory by design. Every rank holds the whole model, all of its gradients,
# and the optimizer's state, and after each step all of that is the same on every rank. With Adam,
# whose state is the largest part, a model of seven billion parameters doesn't fit on one 80 GB GPU.
# A thousand GPUs running plain data parallelism don't help either, because each of them is as full
# as the first.
#
# **Question.** How much of this does a rank really have to keep, and what does it cost, in bytes on
# the wire and in seconds, to keep less?

# %%
import sys
from statistics import median

import torch
import torch.distributed as dist

from helpers.cost import states
from helpers.draw import curves
from helpers.draw.states import zero_stages
from helpers.grade import check
from helpers.lesson import answer, claim, predict, quick, reveal, show, show_diff, vary
from helpers.network import Link, slow_link
from helpers.ranks import find_place, keep_warm, launch
from helpers.trace import cut_by

keep_warm(3)  # ranks get ready while you read

# %% [markdown]
# ## Two halves of an all-reduce
#
# An all-reduce leaves the sum of all ranks' tensors on every rank. It's really two collectives in a
# row: after a **reduce-scatter** each rank has the sum of *one part*, and after an **all-gather**
# each rank has all of the parts.


# %%
def halves():
    rank, x = dist.get_rank(), torch.arange(3.0) + 10 * dist.get_rank()
    part = torch.empty(1)
    dist.reduce_scatter(part, list(x.chunk(3)))
    whole = torch.empty(3)
    dist.all_gather(list(whole.chunk(3)), part)
    return f"rank {rank} had {x.tolist()}, its part {part.tolist()}, all parts {whole.tolist()}"


print(*launch(halves, ranks=3, quiet=True), sep="\n")

# %% [markdown]
# Between the two halves each rank holds one part of the summed gradient, and that's where ZeRO
# steps in. Adam updates each weight from that weight's own gradient and state, without looking at
# any other weight. So a rank can update *its part* right there, between the halves, and the
# all-gather then carries new weights instead of gradients. Just as many bytes travel as before, but
# a rank needs Adam's state for its own part only. That is **ZeRO-1**
# ([1910.02054](https://arxiv.org/abs/1910.02054)), and a part is called a **shard**.
#
# How much does it save? In mixed precision a parameter takes 2 bytes for the weight, 2 for the
# gradient, and 12 for the optimizer: a copy of the weight, a mean and a variance, each in 32 bits.

# %%
predict(
    "L11-1",
    "Mixed precision with Adam takes 2 + 2 + 12 = 16 bytes a parameter. With ZeRO-1 on four ranks, "
    "how many bytes a parameter does each rank keep?",
    "4",
    "7",
    "13",
)

# %%
for stage in range(4):
    each = states(1, "mixed", stage, ranks=4)
    print(f"stage {stage}: {each.weights:.1f} weights + {each.gradients:.1f} gradients + "
          f"{each.optimizer:.1f} optimizer = {each.total:.1f} bytes a parameter")  # fmt: skip
reveal("L11-1")

# %%
vary(zero_stages, ranks=(4, 2, 3))

# %% [markdown]
# (With a running kernel a slider changes the number of ranks.) The first stage saves the most.
# **ZeRO-2** shards the gradients as well: as soon as the gradients of a block are complete they are
# reduce-scattered, and each rank frees all but its part. **ZeRO-3** shards even the weights, which
# are gathered just before a block computes and freed just after. Torch calls that *fully sharded
# data parallel*, **FSDP**. For $P$ parameters on $n$ ranks, in bytes a rank:
#
# $$M_0 = 16\,P, \qquad M_1 = 4\,P + \frac{12\,P}{n}, \qquad M_2 = 2\,P + \frac{14\,P}{n},
# \qquad M_3 = \frac{16\,P}{n}.$$
#
# Two conventions circulate. The ZeRO paper keeps gradients in 16 bits, which makes 16 bytes a
# parameter. Megatron-LM accumulates them in 32 bits, which makes 18, and stage 1 becomes $6\,P +
# 12\,P/n$. If two tables disagree by an eighth, that's why. Neither counts activations: they
# belong to each rank's own samples, and no stage of ZeRO touches them.
#
# A model has one billion parameters and is trained in mixed precision (16 bytes a parameter) with
# ZeRO-2 on 16 ranks. How many GB does each rank keep? (1 GB is 10⁹ bytes.)

# %%
mine = None
answer("L11-2", mine)

# %% [markdown]
# ## From parameters to shards
#
# Parameters that travel together form a **unit**: a block, the embedding, the head. All parameters
# of a unit live in one flat tensor, padded so that the ranks' parts are equally long, and each
# parameter is a view of it. That way a unit needs only one collective. A part may then begin in the
# middle of a matrix, which Adam doesn't mind, because it treats every number by itself.
#
# ### Your turn: DP-5 · 30 minutes · 20 points
#
# Write `average()` and `gather()` of `Shards` in `DP/zero/shards.py`: the two halves of the
# all-reduce, one for gradients and one for weights. The constructor, which flattens the parameters,
# is given; read it first.

# %%
check("DP-5")

# %% [markdown]
# ### Your turn: DP-6 · 10 minutes · 10 points
#
# Write `step()` of `Zero1` in `DP/zero/zero1.py`. Backward has left whole gradients on each rank;
# after your step every rank has the new weights, and has updated only its own part of them.

# %%
check("DP-6")

# %% [markdown]
# ## Does a rank keep what the formula says?
#
# Three real ranks train the small LLaMA in 32 bits, where weight, gradient and the two states take
# 4, 4 and 8 bytes. `kept` counts the memory blocks behind all tensors just before an update. The
# ranks run on an artificial link of 200 megabits a second, so that we can also see what the bytes
# cost: inside `slow_link` every message takes at least as long as it would take there.

# %%
FLAGS = ["--steps", str(quick(6, 2)), "--seq-l", "64"]


def train(stage):
    """On a rank: losses, bytes kept and expected, and the trace."""
    sys.path[:0] = ["../DP/zero"]
    import intro_ZeRO
    from memory import expected

    options, place = intro_ZeRO.read_flags([*FLAGS, "--stage", str(stage)]), find_place()
    with slow_link(Link(200)):
        losses, count, kept, trace = intro_ZeRO.train(options, place, "cpu", lambda *_: None)
    return losses, kept, expected(count, stage, place.world_size), trace


def print_kept(stage, ranks):
    losses, kept, formula, _ = ranks[0]
    sizes = ", ".join(f"{name} {kept[name] / 1e6:.2f} ({formula[name] / 1e6:.2f})" for name in kept)
    print(f"stage {stage}: loss {losses[-1]:.6f}; MB kept (formula): {sizes}")


# %%
plain = launch(train, ranks=3, args=(0,), quiet=True)
print_kept(0, plain)

# %%
first_stage = launch(train, ranks=3, args=(1,), quiet=True)
print_kept(1, first_stage)

# %% [markdown]
# Your ZeRO-1 reaches the same loss, because all that has changed is where the numbers are kept, and
# the optimizer's state has shrunk to a third.
#
# — *End of the first session* —
#
# ## ZeRO-2 and ZeRO-3
#
# From stage 1 to stage 2 only the moment of averaging changes. Autograd calls a hook whenever a
# parameter's gradient is complete, and when the last one of a unit is there, the unit is averaged
# on the spot, in the middle of backward. So whole gradients never exist for more than one unit at a
# time.

# %%
show_diff("DP/zero/zero1.py", "DP/zero/zero2.py", context=1)

# %% [markdown]
# Stage 3 has to do the same with weights, and there are two moments at which a unit needs them.
#
# ### Your turn: DP-7 · 45 minutes · 25 points
#
# Write `add_hooks()` and `complete()` of `Zero3` in `DP/zero/zero3.py`, on top of `Zero2`. A unit's
# whole weights may exist only while that unit computes. Hooks of `torch.nn.Module` take care of
# that, and the model's own code stays as it is, which is why FSDP works for models that know
# nothing about it.

# %%
check("DP-7")

# %% [markdown]
# Now let's run all four stages, and count what each of them sends.

# %%
predict(
    "L11-3",
    "Plain data parallelism averages each gradient by an all-reduce: that is twice the bytes of "
    "the model, once for each half. How much does ZeRO-3 send in a step?",
    "as much: twice the bytes of the model",
    "one and a half times as much",
    "twice as much",
)

# %%
runs = {0: plain, 1: first_stage}
two_stages = launch(lambda: [train(2), train(3)], ranks=3, quiet=True)
runs |= {2 + n: [rank[n] for rank in two_stages] for n in (0, 1)}
for stage, ranks in runs.items():
    print_kept(stage, ranks)

# %% tags=["time"]
HALVES = {"all-reduce": 2, "reduce-scatter": 1, "all-gather": 1}
whole, volume = plain[0][2]["weights"], {}
for stage, ranks in runs.items():
    events, steps = ranks[0][3].events, len(ranks[0][0])
    sent = [e for e in events if e.kind in HALVES]
    volume[stage] = sum(HALVES[e.kind] * e.info["bytes"] for e in sent) / steps / whole
    ends = [e.end for e in events if e.kind == "update"]
    seconds = median(b - a for a, b in zip(ends, ends[1:], strict=False))
    print(f"stage {stage}: {volume[stage]:.2f} times the model in {len(sent) // steps} calls, "
          f"{1e3 * seconds:.0f} ms a step")  # fmt: skip
reveal("L11-3", ratio=volume[3] / volume[0])

# %% [markdown]
# Stages 1 and 2 send what data parallelism sends. Stage 3 gathers the weights twice, for forward
# and for backward, and reduce-scatters the gradients once: three volumes of the model instead of
# two. In a ring a rank sends (N-1)/N of each volume, and on this link those bytes take:

# %%
one = Link(200).seconds(whole * 2 / 3)
print(f"one volume: {1e3 * one:.0f} ms; two: {2e3 * one:.0f} ms; three: {3e3 * one:.0f} ms")

# %% [markdown]
# A step takes longer than that, because it has to compute, and because every call costs something
# on top of its bytes: three processes hand its pieces around on the cores they share. That's also
# why stage 0, which averages each parameter in a call of its own, is slower than stage 1 with as
# many bytes. Here is one step of stage 3, on three ranks. F and B are cut where the rank stops to
# communicate.

# %% tags=["time"]
trace = runs[3][0][3].merged(*(rank[3] for rank in runs[3][1:]))
ends = [e.end for e in trace.events_of(0) if e.kind == "update"]
show(cut_by(trace).between(ends[-2], ends[-1]))

# %% [markdown]
# The gathers are on the critical path: while one runs, no rank computes. A real FSDP
# **prefetches**, which means that it starts the gather of the next unit before it computes the
# current one. A gather then costs time only where it takes longer than a unit's computing; the
# price is a second unit's weights in memory.
#
# ## With gradient accumulation
#
# So far each step had one micro-batch. Suppose we accumulate the gradients of $k$ micro-batches
# before each update, as every pipeline does. ZeRO-1 can keep adding to its local gradients, and
# needs the two halves of the all-reduce only once, at the end.

# %%
predict(
    "L11-4",
    "With k = 8 micro-batches in a step, ZeRO-3 frees weights and gradients after each. How many "
    "times as much as ZeRO-1 does it send?",
    "1.5 times, as before",
    "8 times",
    "12 times",
)

# %%
print("    k   ZeRO-1   ZeRO-3   ZeRO-3, gradients kept whole   (times the model)")
for k in (1, 2, 4, 8, 32):
    print(f"{k:5}{2:9}{3 * k:9}{2 * k + 1:12}")
reveal("L11-4")

# %% [markdown]
# In ZeRO-3 each micro-batch needs its two gathers. It needs its own reduce-scatter too, unless
# whole gradients are kept until the end, which loses what ZeRO-2 saves. ZeRO-2 lies in between: a
# reduce-scatter for each micro-batch, and one gather for the step. So the volumes are
#
# $$V_{1} = 2\,P, \qquad V_{2} = (k+1)\,P, \qquad V_{3} = 3k\,P \quad\text{or}\quad
# (2k+1)\,P.$$
#
# A pipeline has a large $k$ by design, because that is how its bubble gets small. So pipelines are
# combined with ZeRO-1, and hardly ever with ZeRO-3.
#
# ## Find the bug
#
# Gradients are usually clipped: if the norm of the whole gradient is above 1, the gradient is
# scaled so that its norm is 1. Here is such a clip for shards. It runs without an error, and a loss
# would still go down with it.


# %%
def clip(part, most=1.0):
    """Scale this rank's part of the gradient so that its norm is at most `most`."""
    return part * min(1.0, most / part.norm().item())


def clipped(clip):
    gradient = torch.tensor([3.0, 0.0, 0.0, 4.0, 0.1, 0.0])  # norm 5, two numbers a rank
    part = clip(gradient.chunk(3)[dist.get_rank()])
    parts = [torch.empty(2) for _ in range(3)]
    dist.all_gather(parts, part)
    return [round(number, 3) for number in torch.cat(parts).tolist()]


print("one device:  ", clip(torch.tensor([3.0, 0.0, 0.0, 4.0, 0.1, 0.0])).tolist())
print("three shards:", launch(clipped, ranks=3, args=(clip,), quiet=True)[0])

# %%
predict(
    "L11-5",
    "What is wrong with it?",
    "each rank should clip to 1/3, since there are three of them",
    "each rank takes the norm of its own part",
    "a gradient must be clipped before it is sharded",
)


# %%
def clip_together(part, most=1.0):
    total = part.norm() ** 2
    dist.all_reduce(total)  # one number: the squares of all parts
    return part * min(1.0, most / total.sqrt().item())


print("three shards:", launch(clipped, ranks=3, args=(clip_together,), quiet=True)[0])
reveal("L11-5")

# %% [markdown]
# The dangerous thing about the local norm is how quiet it is. Each part is scaled by its own
# factor, so the gradient changes its direction, and how much depends on the number of ranks.
# Nothing crashes; it's merely a different training on 64 GPUs than on 8. The cure costs one
# all-reduce of a single number.
#
# ## Torch's own: FSDP2
#
# FSDP2, the second version of torch's FSDP, is the function `fully_shard`. Applied to a module, it
# does what your hooks do. We apply it to each block and then to the whole net, whose unit is what's
# left: embedding, final norm and head.


# %%
def sharded(reshard=None):
    """On a rank: a net in torch's shards, its stories, and the loss of a batch."""
    sys.path[:0] = ["../DP/zero"]
    import intro_ZeRO as script
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    options, place = script.read_flags(FLAGS), find_place()
    tokenizer, net = script.prepare(options, "cpu")
    mesh = init_device_mesh("cpu", (place.world_size,))
    for part in [*net.model.layers, net]:
        fully_shard(part, mesh=mesh, reshard_after_forward=reshard)
    stories = iter(script.make_stories(options, tokenizer, place.rank, place.world_size))
    return net, stories, lambda ids: script.causalLLMLoss(net(ids), ids, tokenizer.vocab_size)


# %% [markdown]
# First we look at its losses, which must be those of your ZeRO-3, and then at a parameter. It has
# become a **DTensor**, a tensor that knows how it's cut: its shape is that of the whole, while each
# rank holds only a part.


# %%
def look_inside():
    net, stories, loss_of = sharded()
    optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)  # after fully_shard
    losses = []
    for _ in range(quick(6, 2)):
        optimizer.zero_grad()
        loss = loss_of(next(stories))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    p = net.model.layers[0].self_attn.q_proj.weight
    kind, whole, here = type(p).__name__, tuple(p.shape), tuple(p.to_local().shape)
    return losses, f"a {kind} of shape {whole}, {p.placements[0]}; here {here}"


# %%
theirs = launch(look_inside, ranks=3, quiet=True, checked=False)
print("FSDP2: ", *(f"{loss:.5f}" for loss in theirs[0][0]))
for rank, (_, inside) in enumerate(theirs):
    print(f"rank {rank}: {inside}")

# %%
ours = runs[3][0][0]
print("ZeRO-3:", *(f"{loss:.5f}" for loss in ours))
away = max(abs(a - b) for a, b in zip(ours, theirs[0][0], strict=True))
claim.below("the losses differ by less than", away, 1e-4)

# %% [markdown]
# 64 rows don't divide by three, and FSDP2 doesn't mind: it cuts each parameter along its first
# dimension, into 22, 22 and 20 rows. Your `Shards` cuts the flat tensor in equal parts instead, as
# the first FSDP did. FSDP2 gave that up so that a shard still has a name and a shape, which is what
# checkpoints, mixed precision by layer and frozen parameters need.
#
# Note the comment in `look_inside`: the optimizer is made *after* `fully_shard`. What goes wrong if
# it's made before?


# %%
def optimizer_first():
    from torch.distributed.fsdp import fully_shard

    net = torch.nn.Linear(6, 6)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    fully_shard(net, mesh=dist.device_mesh.init_device_mesh("cpu", (3,)))
    before = net.weight.full_tensor().clone()
    net(torch.ones(1, 6)).sum().backward()
    optimizer.step()
    return (net.weight.full_tensor() - before).abs().max().item()


change = launch(optimizer_first, ranks=3, quiet=True, checked=False)[0]
print(f"largest change of a weight after a step: {change}")

# %% [markdown]
# No weight moves, and torch raises no error. `fully_shard` replaces every parameter with a new one,
# but the optimizer still holds the old ones, which never get a gradient.
#
# The setting you'll meet most often is `reshard_after_forward`. Let's count what each choice sends
# in a step of one micro-batch, and of four.

# %%
predict(
    "L11-6",
    "With reshard_after_forward=False a block keeps its weights after its forward. What does that "
    "buy, and what does it cost?",
    "less memory, more bytes on the wire",
    "fewer bytes on the wire, more memory",
    "neither: the weights must be freed anyway before the update",
)


# %%
CALLS = "all_gather_single all_gather_into_tensor reduce_scatter_single reduce_scatter_tensor"


def listen(name, sent):
    """Have a function of torch.distributed write down the bytes of its largest tensor."""
    send = getattr(dist, name)

    def listened(*given, **named):
        tensors = [t for t in (*given, *named.values()) if isinstance(t, torch.Tensor)]
        sent.append(max(t.nbytes for t in tensors))
        return send(*given, **named)

    setattr(dist, name, listened)


# %%
def count(ways):
    """On a rank: the volume that FSDP2 sends in one step of each way, in times the model."""
    sent, volumes = [], []
    for name in CALLS.split():
        if hasattr(dist, name):  # the names differ between versions of torch
            listen(name, sent)
    for reshard, k, sync in ways:
        sent.clear()
        net, stories, loss_of = sharded(reshard)
        for i in range(k):
            net.set_requires_gradient_sync(sync or i == k - 1)
            loss_of(next(stories)).backward()
        volumes.append(sum(sent) / (4 * sum(p.numel() for p in net.parameters())))
    return volumes


# %%
ways = {
    "reshard_after_forward=True,  1 micro-batch  ": (True, 1, True),
    "reshard_after_forward=False, 1 micro-batch  ": (False, 1, True),
    "reshard_after_forward=True,  4 micro-batches": (True, 4, True),
    "the same, gradients kept whole until the end": (True, 4, False),
}
some = list(ways.values())[: quick(4, 2)]
volumes = launch(count, ranks=3, args=(some,), quiet=True, checked=False)[0]
for words, found in zip(ways, volumes, strict=False):
    print(f"{words}: {found:.1f} times the model")
reveal("L11-6", kept=volumes[1], freed=volumes[0])

# %% [markdown]
# The counts are those of the formulas, with a little padding. With `reshard_after_forward=False`
# the weights are gathered once and stay until backward, so the volume is that of ZeRO-2, and so is
# the memory at its peak. (By default the outermost unit isn't resharded: its backward comes right
# after its forward.) `set_requires_gradient_sync(False)` keeps whole gradients until the last
# micro-batch.
#
# One more word that you'll meet is **HSDP**, hybrid sharded data parallelism. It shards inside a
# group of ranks, such as the GPUs of one machine, and replicates across groups: gathers stay on the
# fast network, and only shards of gradients cross the slow one. You get it by passing `fully_shard`
# a mesh with two dimensions. And torch doesn't have the bug of the section before, because its
# `clip_grad_norm_` computes the global norm of DTensors.
#
# ## How far does it carry?
#
# LLaMA-7B with Adam in mixed precision, at 16 bytes a parameter, needs 108 GB. How much is left on
# each rank, from 1 rank to 64? (Both axes are logarithmic.)

# %%
ranks = [2**n for n in range(7)]
lines = {}
for stage in range(4):
    sizes = [states(6.74e9, "mixed", stage, n).total / 1e9 for n in ranks]
    lines[f"stage {stage}" if stage else "no ZeRO"] = dict(zip(ranks, sizes, strict=True))
title = "ZeRO-1 and ZeRO-2 level off; only ZeRO-3 keeps falling"
show(curves(lines, title, x="data-parallel ranks", y="GB on each rank", log="xy"))


# %%
def trade(billion_parameters, ranks, micro_batches):
    """What each stage keeps, and what it sends in a step."""
    sent = {0: 2, 1: 2, 2: 1 + micro_batches, 3: 3 * micro_batches}
    kept = {n: billion_parameters * states(1, "mixed", n, ranks).total for n in sent}
    one = 2 * billion_parameters * (ranks - 1) / ranks  # GB: the model once, in 16 bits
    return "\n".join(
        f"stage {n}: {kept[n]:,.1f} GB kept on a rank, {one * sent[n]:,.0f} GB sent" for n in sent
    )


vary(trade, billion_parameters=(7, 1, 13, 70, 405), ranks=(8, 2, 64, 512), micro_batches=(1, 4, 32))

# %% [markdown]
# Stage 1 can't fall below $4\,P$ and stage 2 can't fall below $2\,P$, however many ranks
# there are. Stage 3 has no floor: every further rank makes room. So this is the trade. Stage 1 is
# free. Stage 2 is free as long as a step has one micro-batch. Stage 3 sends one and a half times as
# much, or far more with accumulation, and in return its memory keeps falling.
#
# ## What to remember
#
# - An all-reduce is a reduce-scatter and an all-gather, and ZeRO does the update between them.
# - Stage 1 shards the optimizer's state, stage 2 the gradients too, stage 3 the weights too.
#   Activations are never sharded by ZeRO.
# - With one micro-batch, stages 1 and 2 send as much as data parallelism, and stage 3 sends one and
#   a half times as much. With $k$ of them, stage 3 sends $3k$ volumes against stage 1's 2, which is
#   why pipelines use ZeRO-1.
# - The norm for clipping is that of all shards together. With a local norm you quietly train
#   something else.
# - With FSDP2, make the optimizer after `fully_shard`.
#
# ## In the wild
#
# - BLOOM, 176 billion parameters on 384 A100s, combined tensor parallelism of 4, 12 pipeline stages
#   and 8 replicas with ZeRO **stage 1** ([2211.05100](https://arxiv.org/abs/2211.05100), section
#   3.4).
# - DeepSeek-V3 made the same choice with 16 pipeline stages on 2,048 H800s: ZeRO-1 for data
#   parallelism ([2412.19437](https://arxiv.org/abs/2412.19437), section 3.2).
# - Llama 3 405B sharded optimizer states and gradients on up to 16,384 H100s, but didn't reshard
#   the weights after forward, to avoid the second gather
#   ([2407.21783](https://arxiv.org/abs/2407.21783), section 3.3.2), which is the choice of your
#   L11-6.
#
# To read in PyTorch: `pre_forward`, `post_forward`, `pre_backward` and `post_backward` of
# `FSDPParamGroup` in `torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py`. They're your three
# hooks and your `complete`, and the line to look for is the one that prefetches.
#
# ## Where next
#
# ZeRO shards what is *kept*, but each rank still computes whole layers. In [lesson
# 12](12_tensor_parallel.ipynb) the layers themselves are cut, so that a rank never holds a whole
# matrix, not even while it computes.
