# %% [markdown]
# # Sharding: no rank keeps what another keeps
#
# **Needs:** two cores, no network. **Takes:** two minutes.
#
# In data parallelism each rank holds the whole model, its gradients, and the optimizer's state. The
# state of Adam alone is twice as large as the model. On every rank it is the same.
#
# **Question.** How much of this must a rank really keep, and what does it cost to keep less?

# %%
# needs: DP/zero/intro_ZeRO.py, DP/zero/zero1.py, DP/zero/zero2.py, DP/zero/zero3.py
# needs: DP/zero/memory.py, helpers/parallel/shards.py
import sys

import torch
import torch.distributed as dist

from helpers.cost import states
from helpers.draw import curves
from helpers.grade import check
from helpers.lesson import answer, predict, show, show_diff
from helpers.ranks import find_place, launch

# %% [markdown]
# ## Two halves of an all-reduce
#
# You know all-reduce: every rank gets the sum of all. It has two halves. After a
# **reduce-scatter** each rank has the sum of *one part*. After an **all-gather** each rank has the
# parts of all.


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
# Between the two halves, each rank has one part. This is the place where ZeRO puts its hand in.
# Adam changes each weight by looking at this weight's gradient only. So a rank can update *its
# part* alone, and then the all-gather hands round weights in place of gradients. The same bytes
# travel. And a rank needs Adam's state for its part only. This is **ZeRO-1**; a part is called a
# **shard**.

# %%
predict(
    "Adam, all numbers in 32 bits: a weight, a gradient and two states are 16 bytes a parameter. "
    "With ZeRO-1 on four ranks, how many bytes a parameter does a rank keep?",
    "16, but they are used better",
    "10",
    "4",
)

# %%
for stage in range(4):
    each = states(1, "fp32", stage, ranks=4)
    print(f"stage {stage}: {each.weights:.1f} weights + {each.gradients:.1f} gradients + "
          f"{each.optimizer:.1f} states = {each.total:.1f} bytes a parameter")  # fmt: skip

# %% [markdown]
# The first stage saves most for nothing. **ZeRO-2** cuts the gradients too: when the gradients of a
# block are complete, they are averaged at once, and each rank lets go of all but its part.
# **ZeRO-3** cuts the weights too: just before a block computes, its weights are gathered; just
# after, they are let go. Torch calls it fully sharded data parallel, **FSDP**.
#
# ## By hand
#
# From ZeRO-1 to ZeRO-2, and to ZeRO-3. Each is one more file, and a class that changes the one
# before.

# %%
show_diff("DP/zero/zero1.py", "DP/zero/zero2.py", context=1)

# %%
print(open("../DP/zero/zero3.py", encoding="utf-8").read().partition("class ")[2])

# %% [markdown]
# ## Measured
#
# Three real ranks train the small LLaMA, with each stage in turn. `kept` counts the memory blocks
# behind all tensors, just before an update. Beside it stands what the formula says.


# %%
def train(stage):
    sys.path[:0] = ["../DP/zero"]
    import intro_ZeRO
    from memory import expected

    options = intro_ZeRO.read_flags(["--steps", "5", "--seq-l", "64", "--stage", str(stage)])
    place = find_place()
    losses, count, kept, trace = intro_ZeRO.train(options, place, "cpu", lambda *_: None)
    return losses, kept, expected(count, stage, place.world_size), trace


runs = {stage: launch(train, ranks=3, args=(stage,), quiet=True) for stage in range(4)}
for stage, ranks in runs.items():
    losses, kept, formula, _ = ranks[0]
    sizes = ", ".join(f"{name} {kept[name] / 1e6:.2f} ({formula[name] / 1e6:.2f})" for name in kept)
    print(f"stage {stage}: loss {losses[-1]:.6f}; MB kept (formula): {sizes}")

# %% [markdown]
# The losses agree: nothing but the place of the numbers has changed. Now look at what travels.

# %%
predict(
    "Plain data parallelism sends each gradient once, by an all-reduce: that is twice the bytes of "
    "the model. How much does ZeRO-3 send?",
    "as much",
    "half as much again",
    "three times as much",
)

# %%
HALVES = {"all-reduce": 2, "reduce-scatter": 1, "all-gather": 1}
whole = runs[0][0][2]["weights"]
for stage, ranks in runs.items():
    events = [e for e in ranks[0][3].events if e.kind in HALVES]
    sent = sum(HALVES[e.kind] * e.info["bytes"] for e in events) / 5
    print(
        f"stage {stage}: {sent / whole:.2f} times the model in each step, {len(events) // 5} calls"
    )

# %% [markdown]
# Stages 1 and 2 send what data parallelism sends. Stage 3 gathers the weights twice, for forward
# and for backward, and sends the gradients once: 3 in place of 2. A step of it:

# %%
trace = runs[3][0][3].merged(*(rank[3] for rank in runs[3][1:]))
ends = [e.end for e in trace.events_of(0) if e.kind == "update"]
show(trace.between(ends[2], ends[3]))

# %% [markdown]
# Here the rank waits for each gather. FSDP gathers the next block while the present one computes.
#
# ## Torch's own
#
# FSDP2 is called `fully_shard`. It must give the same losses as ZeRO-3 by hand.


# %%
def fsdp(seed=0):
    sys.path[:0] = ["../DP/zero"]
    import intro_ZeRO as script
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    options, place = script.read_flags(["--seq-l", "64"]), find_place()
    options.seed = seed
    tokenizer, net = script.prepare(options, "cpu")
    mesh = init_device_mesh("cpu", (place.world_size,))
    for part in [*net.model.layers, net]:
        fully_shard(part, mesh=mesh)
    return losses_of(net, script, options, tokenizer, place)


# %%
def losses_of(net, script, options, tokenizer, place):
    optimizer = torch.optim.Adam(net.parameters(), lr=options.lr)
    stories = iter(script.make_stories(options, tokenizer, place.rank, place.world_size))
    losses = []
    for _ in range(5):
        ids = next(stories)
        optimizer.zero_grad()
        loss = script.causalLLMLoss(net(ids), ids, tokenizer.vocab_size)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


theirs = launch(fsdp, ranks=3, quiet=True, checked=False)[0]
print("FSDP2: ", *(f"{loss:.5f}" for loss in theirs))
print("ZeRO-3:", *(f"{loss:.5f}" for loss in runs[3][0][0]))

# %% [markdown]
# ## How far does it carry?
#
# LLaMA-7B with Adam in mixed precision, 16 bytes a parameter. On one device of 80 GB it does not
# fit. With stage 3 every further rank makes room; the other stages come to an end.

# %%
ranks = [1, 2, 4, 8, 16, 32, 64]
lines = {}
for stage in range(4):
    sizes = [states(6.74e9, "mixed", stage, n).total / 1e9 for n in ranks]
    lines[f"stage {stage}"] = dict(zip(ranks, sizes, strict=True))
title = "LLaMA-7B: with stage 1 the states fit into eight devices of 40 GB"
show(curves(lines, title, x="data-parallel ranks", y="GB on each rank"))

# %% [markdown]
# ## What to remember
#
# - An all-reduce is a reduce-scatter and an all-gather. ZeRO works between the two.
# - Stage 1 cuts the optimizer's state, stage 2 the gradients too, stage 3 the weights too.
# - Stages 1 and 2 send as much as data parallelism; stage 3 half as much again.
# - Activations are not cut: they are a rank's own. Smaller batches and recomputation help there.
#
# ## Exercises
#
# **1. Task DP-5: ZeRO-1.**

# %%
check("DP-5")

# %% [markdown]
# **2.** A model of one billion parameters, mixed precision, 16 ranks, ZeRO-2. How many GB does each
# rank keep?

# %%
mine = None
answer(mine, lambda: states(1e9, "mixed", 2, 16).total / 1e9)
