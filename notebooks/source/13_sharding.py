# %% [markdown]
# # Sharding: no rank keeps what another keeps
#
# *Reading 50 minutes, tasks 85*
#
# *With twenty minutes: to "From parameters to shards", take DP-5 by `solve("DP-5")`, and do DP-6.*
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

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from helpers.check import check, solve
from helpers.cost import states
from helpers.draw import curves
from helpers.lesson import claim, predict, reveal, show, show_code, show_diff
from helpers.ranks import find_place, keep_warm, launch
from helpers.trace import cut_by, last_steps

# %%
sys.path[:0] = ["../DP/zero"]
import peak
import torchs_own

torch.set_num_threads(1)  # in this lab, one device is one core
keep_warm(4, imports=["torch._dynamo"])  # ranks get ready while you read

# %% [markdown]
# ## Two halves of an all-reduce
#
# An all-reduce leaves the sum of all ranks' tensors on every rank. It's really two collectives in a
# row (lesson 02): after a **reduce-scatter** each rank has the sum of *one part*, and after an
# **all-gather** each rank has all of the parts.
#
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
for stage in range(4):
    each = states(1, "mixed", stage, ranks=4)
    print(f"stage {stage}: {each.weights:.1f} weights + {each.gradients:.1f} gradients + "
          f"{each.optimizer:.1f} optimizer = {each.total:.1f} bytes a parameter")  # fmt: skip

# %% [markdown]
# ![Of the 16 bytes a parameter takes, what each of four ranks keeps. Plain data parallelism: 16.
# ZeRO-1 cuts the optimizer states: 7. ZeRO-2 cuts the gradients, too: 5.5. ZeRO-3 cuts the weights
# as well: 4.](../imgs/zero_stages.svg)
#
# Stage 1 already removes most of it, because the optimizer holds twelve of the sixteen bytes.
# **ZeRO-2** shards the gradients as well: as soon as the gradients of a block are complete they are
# reduce-scattered, and each rank frees all but its part. **ZeRO-3** shards even the weights, which
# are gathered just before a block computes and freed just after. Torch calls that *fully sharded
# data parallel*, **FSDP**. For $P$ parameters on $n$ ranks, in bytes a rank:
#
# $$M_0 = 16\,P, \qquad M_1 = 4\,P + \frac{12\,P}{n}, \qquad M_2 = 2\,P + \frac{14\,P}{n},
# \qquad M_3 = \frac{16\,P}{n}.$$
#
# Two conventions circulate. The ZeRO paper keeps gradients in 16 bits, which makes 16 bytes a
# parameter. Megatron-LM accumulates them in 32 bits, which makes 18, and stage 1 becomes
# $6\,P + 12\,P/n$. If two tables disagree, by an eighth for stages 0 and 3 and by up to a half for
# stage 1, that's why. Neither counts activations: they belong to each rank's own samples, and no
# stage of ZeRO touches them.
#
# A model of one billion parameters takes 16 GB in mixed precision; with ZeRO-2 on 16 ranks, each
# keeps 2 + 14/16 = 2.9 GB.
#
# ## From parameters to shards
#
# Parameters that travel together form a **unit**: a block, the embedding, the head. All parameters
# of a unit live in one flat tensor, padded so that the ranks' parts have the same length, and each
# parameter is a view of it. That way a unit needs only one collective. A part may then begin in the
# middle of a matrix, which Adam doesn't mind, because it treats every number by itself.
#
# ### Your turn: DP-5 · 30 minutes · 15 points
#
# Write `average()` and `gather()` of `Shards` in `DP/zero/shards.py`: the two halves of the
# all-reduce, one for gradients and one for weights. The constructor, which flattens the parameters,
# is given; read it first.

# %%
check("DP-5")

# %% [markdown]
# ### Your turn: DP-6 · 10 minutes · 5 points
#
# Write `step()` of `Zero1` in `DP/zero/zero1.py`. Backward has left whole gradients on each rank;
# after your step every rank has the new weights, and has updated only its own part of them.

# %%
check("DP-6")

# %% [markdown]
# ## Does a rank keep what the formula says?
#
# Three real ranks train the small LLaMA in 32 bits, where weight, gradient and the two states take
# 4, 4 and 8 bytes. `kept` counts the memory blocks behind all of these just before an update.

# %%
FLAGS = ["--steps", quick("3", "2"), "--seq-l", "16"]


def train(stage):
    """On a rank: losses, bytes kept and expected, and the trace."""
    import intro_ZeRO
    from memory import expected

    options, place = intro_ZeRO.read_flags([*FLAGS, "--stage", str(stage)]), find_place()
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
# Your ZeRO-1 reaches the same loss up to rounding (sums are taken in another order), because all
# that has changed is where the numbers are kept. But the optimizer's state has shrunk to a third.
#
# — *With ninety minutes, stop here.* —
#
# ## ZeRO-2 and ZeRO-3
#
# From stage 1 to stage 2 only the moment of averaging changes. Autograd calls a hook whenever a
# parameter's gradient is complete, and when the last one of a unit is there, the unit is averaged
# on the spot, in the middle of backward. So whole gradients never exist for more than one unit at a
# time.

# %% jupyter={"source_hidden": true}
show_diff("DP/zero/zero1.py", "DP/zero/zero2.py", context=1)

# %% [markdown]
# Stage 3 treats weights the same way. A unit needs them whole twice in a step, in forward and in
# backward; at all other times a rank holds only its shard.
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
# Now let's run the other two stages, and count the tensors that each hands to its collectives. Each
# is priced as in a ring, where a rank sends $(n-1)/n$ of them for a reduce-scatter, as much for an
# all-gather, and twice that for an all-reduce. (NCCL's ring does. Torch's Gloo backend builds a
# reduce-scatter out of all-reduces, which send twice as much.)

# %% jupyter={"source_hidden": true}
predict(
    "sharding-3",
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

# %%
HALVES = {"all-reduce": 2, "reduce-scatter": 1, "all-gather": 1}
whole, volume = plain[0][2]["weights"], {}
for stage, ranks in runs.items():
    events, steps = ranks[0][3].events, len(ranks[0][0])
    sent = [e for e in events if e.kind in HALVES]
    volume[stage] = sum(HALVES[e.kind] * e.info["bytes"] for e in sent) / steps / whole
    print(
        f"stage {stage}: {volume[stage]:.2f} times the model in {len(sent) // steps} calls a step"
    )
reveal("sharding-3", ratio=volume[3] / volume[0])

# %% [markdown]
# Stages 1 and 2 send what data parallelism sends. Stage 3 gathers the weights for forward and once
# more for backward, and reduce-scatters the gradients: three volumes of the model instead of two.
# (This holds if weights and gradients travel in the same precision, as here. If weights are
# gathered in 2 bytes and gradients are reduced in 4, as is common, stage 0 sends 8 bytes a
# parameter, stage 1 sends 6, and stage 3 sends 8.) Stage 0 sends as much as stage 1, but in 57
# calls instead of 18, because it averages every parameter by itself. In seconds: a model of 7
# billion parameters in 2 bytes is 14 GB, so over a network card of 50 GB/s two volumes take 0.56 s
# and stage 3's three take 0.84 s, as far as nothing hides them.
#
# Here is a step of stage 3, on three ranks. F and B are cut where the rank stops to communicate.

# %% tags=["time"]
trace = runs[3][0][3].merged(*(rank[3] for rank in runs[3][1:]))
show(last_steps(cut_by(trace)))

# %% [markdown]
# Every gather is on the critical path: while one runs, no rank computes. We'll come to that, but
# first to the memory, of which we've seen only half.
#
# ## Peak memory
#
# **Stage 3 has a floor: its largest unit.** `kept` looked between backward and update, when no unit
# is gathered. But a GPU runs out of memory at its *peak*. So let's count after every operation:

# %% jupyter={"source_hidden": true}
show_code("DP/zero/memory.py", "Watch.note")

# %% jupyter={"source_hidden": true}
predict(
    "sharding-4",
    "All in 32 bits: 4 bytes a parameter for weights, 4 for gradients and 8 for Adam. The largest "
    "unit is a sixth of the model. With ZeRO-3 on 8 ranks, how much does each of them hold at its "
    "peak, without activations?",
    "2 bytes a parameter: an eighth of everything",
    "about 4 bytes a parameter",
    "16 bytes a parameter, for a moment",
)

# %% [markdown]
# Here is a model with six blocks and few tokens, so that activations hardly count. Four ranks train
# for two steps at each stage, and we watch the second, because Adam's states are created in the
# first:


# %%
def most(stage, ranks):
    """What a rank should hold at its peak: what it keeps, and what the largest unit needs."""
    weights, unit = peak.sizes()
    cut = [ranks if stage >= first else 1 for first in (3, 2, 1)]
    keeps = weights / cut[0] + weights / cut[1] + 2 * weights / cut[2]
    return keeps + (0, 1, 2, 3)[stage] * unit


def at_most(held):
    return max(max(each) for each in held.values())


# %% tags=["time"] jupyter={"source_hidden": true}
four = launch(lambda: [peak.watched(stage) for stage in range(4)], ranks=4, quiet=True)[0]
for stage, held in enumerate(four):
    claim(f"stage {stage}, MB at the peak", at_most(held) / 1e6, most(stage, 4) / 1e6, within=0.05)


# %% tags=["time"]
def through_the_step(held, points=40):
    """The bytes of a step in MB; each phase is one unit long."""
    line = {}
    for start, phase in enumerate(peak.PHASES):
        bytes_, steps = held[phase], max(1, len(held[phase]) // points)
        for at in range(0, len(bytes_), steps):
            line[start + at / len(bytes_)] = max(bytes_[at : at + steps]) / 1e6
    return line


lines = {
    f"stage {stage}, peak {at_most(held) / 1e6:.0f} MB": through_the_step(held)
    for stage, held in enumerate(four)
}
title = "On top of its shards, stage 3 holds up to three copies of a unit"
show(curves(lines, title, x="forward from 0, backward from 1, update from 2", y="MB"))

# %% tags=["time"]
eight = launch(peak.watched, ranks=8, args=(3,), quiet=True)[0]
weights, unit = peak.sizes()
claim("stage 3 on 8 ranks, MB", at_most(eight) / 1e6, most(3, 8) / 1e6, within=0.05)
found = at_most(eight) / (weights / 4)
print(f"{found:.1f} bytes a parameter: 2 are kept, and the largest unit needs the rest")
reveal("sharding-4", found=found)

# %% [markdown]
# (Stage 0 peaks in the update, a little above what it keeps, probably for what Adam computes on the
# way.) On top of what it keeps, stage 1 needs a flat copy of one unit's gradients, stage 2 one
# unit's gradients and that copy, and stage 3 the unit's whole weights as well:
#
# $$\text{peak}_3 = \frac{16\,P}{n} + 12\,P_\text{unit} + \text{activations}$$
#
# in 32 bits. With many ranks the first term disappears and the second doesn't. That's three copies
# of a unit, and a fourth if the next one is gathered early. A block as large as those of Llama 3
# 405B has 3.2 billion weights, 6.4 GB a copy in 16 bits, so the four take 26 GB, and 32 if
# gradients are reduced in 32 bits. (Llama's own ranks held an eighth of each block, by tensor
# parallelism.) What helps are smaller units. If the head, with its large vocabulary, is the largest
# one, tensor parallelism can cut it (lesson 14).
#
# ## What hides behind what
#
# **With gradients in 2 bytes, FSDP hides all its messages but the first and the last if each rank's
# micro-batch has at least $F/B$ tokens and each gather starts one unit early.** $F$ is the rate in
# FLOP/s that a rank reaches, and $B$ its bytes a second: with one GPU a machine 50 GB/s, with whole
# machines of eight 400. Weights depend on nothing that's computed
# in this step. So a unit can be gathered while the one before computes, which is called
# **prefetching**, and lesson 10 derived how many tokens that takes.
#
# With $u$ units, $m$ seconds a message and $c \ge m$ seconds a unit's forward pass, what's left
# over is the first gather and the last reduce-scatter:
#
# $$T = 3uc + 2m.$$
#
# These two are all that's exposed, for any number of units: with four units at the bound, $c = m$,
# a step takes 14/12 of its computing, and 24/12 if a rank waits for each message. With half the
# tokens the link is busy all the time, and the step takes twice as long as its computing. (Lesson
# 18 runs this on real ranks, and asks when it pays to be further ahead.)
#
# ## With gradient accumulation
#
# So far each step had one micro-batch. Suppose we accumulate the gradients of $k$ micro-batches
# before each update, as every pipeline does. ZeRO-1 can keep adding to its local gradients, and
# needs the two halves of the all-reduce only once, at the end.

# %% jupyter={"source_hidden": true}
predict(
    "sharding-6",
    "With k = 8 micro-batches in a step, ZeRO-3 frees weights and gradients after each. How many "
    "times as much as ZeRO-1 does it send?",
    "1.5 times, as before",
    "8 times",
    "12 times",
)

# %% jupyter={"source_hidden": true}
reveal("sharding-6")

# %% [markdown]
# In ZeRO-3 each micro-batch needs its two gathers. It needs its own reduce-scatter too, unless
# whole gradients are kept until the end, which loses what ZeRO-2 saves. ZeRO-2 lies in between: a
# reduce-scatter for each micro-batch, and one gather for the step. So in volumes of the model,
# which we'll count with FSDP2 below, they send
#
# $$V_{1} = 2, \qquad V_{2} = k+1, \qquad V_{3} = 3k \quad\text{or}\quad 2k+1.$$
#
# A pipeline has a large $k$ by design, because that is how its bubble gets small. So pipelines are
# combined with ZeRO-1, and hardly ever with ZeRO-3. More micro-batches don't help to hide all of
# this either: each needs $F/B$ tokens of its own. (Llama 3 is between the two, as we'll see.)
#
# ## Find the bug
#
# Gradients are usually clipped: if the norm of the whole gradient is above 1, the gradient is
# scaled so that its norm is 1. Here is such a clip for shards. It runs without an error.


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


# %% jupyter={"source_hidden": true}
print("one device:  ", *(f"{n:.3f}" for n in clip(torch.tensor([3.0, 0, 0, 4, 0.1, 0])).tolist()))
print("three shards:", launch(clipped, ranks=3, args=(clip,), quiet=True)[0])


# %%
def clip_together(part, most=1.0):
    total = part.norm() ** 2
    dist.all_reduce(total)  # one number: the squares of all parts
    return part * min(1.0, most / total.sqrt().item())


# %% jupyter={"source_hidden": true}
print("three shards:", launch(clipped, ranks=3, args=(clip_together,), quiet=True)[0])

# %% [markdown]
# Each rank has taken the norm of its own part: 3, 4 and 0.1, where that of the whole gradient is 5.
# The dangerous thing about the local norm is how quiet it is. Each part is scaled by its own
# factor, so the gradient changes its direction, and how much depends on the number of ranks.
# Nothing crashes; training on 64 GPUs simply isn't the training you did on 8. The cure costs one
# all-reduce of a single number.
#
# ## Torch's own: FSDP2
#
# FSDP2, the second version of torch's FSDP, is the function `fully_shard`. Applied to a module, it
# does what your hooks do. We apply it to each block and then to the whole net, whose unit is what's
# left: embedding, final norm and head.


# %%
def in_torchs_words(reshard=None):
    """On a rank: a net in torch's shards, its stories, and the loss of a batch."""
    import intro_ZeRO as script

    options, place = script.read_flags(FLAGS), find_place()
    tokenizer, net = script.prepare(options, "cpu")
    torchs_own.sharded(net, init_device_mesh("cpu", (place.world_size,)), reshard)
    stories = iter(script.make_stories(options, tokenizer, place.rank, place.world_size))
    return net, stories, lambda ids: script.causalLLMLoss(net(ids), ids, tokenizer.vocab_size)


# %% jupyter={"source_hidden": true}
show_code("DP/zero/torchs_own.py", "sharded")

# %% [markdown]
# Its losses must be those of your ZeRO-3. And each of its parameters has become a **DTensor**, a
# tensor that knows how it's cut: its shape is that of the whole, while each rank holds only a part.


# %%
def look_inside():
    net, stories, loss_of = in_torchs_words()
    optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)  # after fully_shard
    losses = []
    for _ in range(quick(3, 2)):
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
for rank, (_, inside) in enumerate(theirs):
    print(f"rank {rank}: {inside}")
ours = runs[3][0][0]
away = max(abs(a - b) for a, b in zip(ours, theirs[0][0], strict=True))
print(f"largest difference between the losses of ZeRO-3 and FSDP2: {away:.1e}")
assert away < 1e-4

# %% [markdown]
# 64 rows don't divide by three, and FSDP2 doesn't mind: it cuts each parameter along its first
# dimension, into 22, 22 and 20 rows. Your `Shards` cuts the flat tensor in equal parts instead, as
# the first FSDP did. FSDP2 gave that up so that a shard still has a name and a shape. This makes it
# easy to freeze only some of the parameters, to save checkpoints without communication, and to
# gather weights in 8 bits together with others in 16.
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


# %% jupyter={"source_hidden": true}
change = launch(optimizer_first, ranks=3, quiet=True, checked=False)[0]
print(f"largest change of a weight after a step: {change}")

# %% [markdown]
# No weight moves, and torch raises no error. `fully_shard` replaces every parameter with a new one,
# but the optimizer still holds the old ones, which never get a gradient.
#
# The setting you'll meet most often is `reshard_after_forward`. With False a block keeps its
# weights from forward to backward. What does that save in a step that accumulates four
# micro-batches, for which FSDP2 sends $3k = 12$ times the model otherwise?


# %%
def volume_of(reshard, k, sync=True, keep=False):
    """On a rank: what FSDP2 sends in a step of k micro-batches, in times the model."""
    net, stories, loss_of = in_torchs_words(reshard)
    sent = torchs_own.Sent()
    for i in range(k):
        last = i == k - 1
        net.set_requires_gradient_sync(sync or last)  # False: whole gradients until the end
        net.set_reshard_after_backward(last or not keep)
        loss_of(next(stories)).backward()
    (found,) = sent.bytes.values()
    return found / (4 * sum(p.numel() for p in net.parameters())) / (2 / 3)


# %%
WAYS = {  # words: (arguments, formula)
    "resharded, 1 micro-batch": ((True, 1), 3),
    "kept from forward to backward, 1 micro-batch": ((False, 1), 2),
    "resharded, k = 4": ((True, 4), 3 * 4),
    "the same, and whole gradients until the end": ((True, 4, False), 2 * 4 + 1),
    "kept from forward to backward, k = 4": ((False, 4), 2 * 4),
    "kept until the end of the step, k = 4": ((False, 4, True, True), 4 + 1),
}
some = quick(WAYS, dict([*WAYS.items()][:2]))

# %%
found = {
    words: launch(volume_of, ranks=3, args=given, quiet=True, checked=False)[0]
    for words, (given, _) in some.items()
}
for words, measured in found.items():
    claim(f"{words}: times the model", measured, some[words][1], within=0.05)

# %% [markdown]
# So with False nothing is gathered for backward: $2k$ volumes. But after each backward the weights
# are freed and have to come back for the next micro-batch. Only
# `set_reshard_after_backward(False)`, until the last one, gathers them once per step, and that's
# ZeRO-2. (The counts are slightly too high because parts are padded.) Torch doesn't have the bug of
# the section before, since its `clip_grad_norm_` computes the global norm of DTensors.
#
# ## HSDP: shards inside a machine, replicas across
#
# Between machines the network is slow, and FSDP sends everything through it, over one card of each
# machine or over all of them. **HSDP**, hybrid sharded data parallelism, shards inside a group of
# ranks, such as the GPUs of one machine, and replicates across groups. A unit's gradients are
# reduce-scattered inside, and only a shard of them is then all-reduced across. With $r$ machines of
# $s$ ranks a rank sends, in multiples of the weights' size,
#
# $$3\,\frac{s-1}{s}\ \text{ inside}, \qquad \frac{2}{s}\cdot\frac{r-1}{r}\ \text{ across}.$$
#
# With two ranks in each of two machines that's 1.5 inside and 0.5 across, so each machine sends 1
# over its network card. A single ring of four ranks passes everything on from machine to machine,
# $3 \cdot 3/4 = 2.25$. All it takes is a mesh of two dimensions:

# %% jupyter={"source_hidden": true}
show_code("DP/zero/torchs_own.py", "hybrid_step", "names =", "sharded(net")

# %% [markdown]
# Four ranks are two machines:

# %%
MESHES = {  # what is sent among which ranks, in times the model
    (4,): {(0, 1, 2, 3): (3 - 0.077) * 3 / 4},  # the root is gathered once: see below
    (2, 2): {(0, 1): (3 - 0.077) / 2, (0, 2): 1 / 2},
}
for shape, expected in MESHES.items():
    far, volumes = launch(torchs_own.hybrid_step, 4, (shape,), quiet=True, checked=False)[0]
    print(f"mesh {shape}: gradients differ from one device's by: {far:.1e}")
    assert far < 1e-12
    for group, volume in expected.items():
        claim(f"mesh {shape}: among ranks {group}, times the model", volumes[group], volume, 0.01)

# %% [markdown]
# The one ring sends 2.19 times the model and not 2.25, and HSDP sends 1.46 inside and not 1.5,
# because by default FSDP2 reshards all units after forward but the root, here embedding, norm and
# head, 7.7 % of the weights: $(3 - 0.077) \cdot 3/4$ and $(3 - 0.077) \cdot 1/2$. Less than half as
# many bytes leave a machine: $2(r-1)/r$ times the weights' instead of $3(n-1)/n$. With more
# machines the ratio grows, to 0.63 with 16 of eight GPUs, and at most to two thirds. (Again in one
# precision. With gradients reduced in 4 bytes it's 0.94, and at most 1.) The price is memory:
# weights, gradients and states are cut by two now, not by four. In return, forward sends nothing
# across, the rings are short (one of 1,024 ranks has 1,023 hops for each unit), and when gradients
# accumulate, HSDP goes across only once a step (`set_requires_all_reduce(False)` until the last
# micro-batch).
#
# ## In one table
#
# With $k$ micro-batches a step: bytes kept per parameter, volumes of the model sent, and copies of
# a unit held on top at the peak:
#
# | stage | keeps | sends | copies of a unit |
# |---|---|---|---|
# | 0 | $16$ | $2$ | 0 |
# | 1 | $4 + 12/n$ | $2$ | 1 |
# | 2 | $2 + 14/n$ | $k + 1$ | 2 |
# | 3 | $16/n$ | $3k$ | 3, with prefetch 4 |
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - An all-reduce is a reduce-scatter and an all-gather, and ZeRO does the update between them.
# - Stage 1 shards the optimizer's state, stage 2 the gradients too, stage 3 the weights too. None
#   shards activations.
# - At its peak stage 3 holds three copies of a unit, or four with one gathered early: that's its
#   floor.
# - With one unit gathered ahead, all but the two ends of a step hide, once a rank's *micro-batch*
#   has $F/B$ tokens ($1.5\,F/B$ with gradients in 32 bits). With $k$ micro-batches stage 3 sends
#   $3k$ volumes against stage 1's two, which is why most pipelines use ZeRO-1.
# - HSDP keeps gathers inside a machine, and sends only shards of gradients across.
# - The norm for clipping is that of all shards together.
# - With FSDP2, make the optimizer after `fully_shard`.
#
# ## In the wild
#
# - BLOOM, 176 billion parameters on 384 A100s, combined tensor parallelism of 4, 12 pipeline stages
#   and 8 replicas with ZeRO **stage 1** ([2211.05100](https://arxiv.org/abs/2211.05100), section
#   3.4).
# - DeepSeek-V3 made the same choice with 16 pipeline stages on 2,048 H800s: ZeRO-1 for data
#   parallelism ([2412.19437](https://arxiv.org/abs/2412.19437), section 3.2).
# - Llama 3 405B sharded the optimizer's states and the gradients among 128 data-parallel ranks, but
#   didn't reshard the weights after forward, to avoid the second gather
#   ([2407.21783](https://arxiv.org/abs/2407.21783), section 3.3.2).
#
# To read in PyTorch: `pre_forward`, `post_forward`, `pre_backward` and `post_backward` of
# `FSDPParamGroup` in `torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py`. They're your three
# hooks and your `complete`, and the line to look for is the one that prefetches.
#
# ## Where next
#
# ZeRO shards what is *kept*, but each rank still computes whole layers. In [lesson
# 14](14_tensor_parallel.ipynb) the layers themselves are cut, so that a rank never holds a whole
# matrix, not even while it computes.
