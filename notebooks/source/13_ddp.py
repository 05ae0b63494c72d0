# %% [markdown]
# # DDP from the inside: averaging while backward goes on
#
# **Needs:** two cores, no network. **Takes:** two minutes.
#
# In lesson 03 the ranks averaged their gradients after backward. While they average, nobody
# computes. While they compute, the network is idle.
#
# **Question.** Can a gradient travel while the others are still being computed, and in how many
# messages?

# %%
# needs: DP/ddp/intro_DDP.py, DP/ddp/flat.py, DP/ddp/hooks.py, DP/ddp/buckets.py
import sys
import time

import torch
import torch.distributed as dist

from helpers.draw import curves
from helpers.grade import check
from helpers.lesson import answer, predict, show, show_diff
from helpers.ranks import find_place, launch

# %% [markdown]
# ## When is a gradient complete?
#
# Backward goes through the layers from the last to the first. When it has passed a layer, the
# gradients of this layer will not change any more. Autograd can tell us: a **hook** is a function
# that it calls when the gradient of a parameter is complete.

# %%
net = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(4)))
order = []
for name, p in net.named_parameters():
    p.register_post_accumulate_grad_hook(lambda p, name=name: order.append(name))
net(torch.randn(64, 512)).sum().backward()
print(*order)

# %% [markdown]
# The last layer comes first. It can travel while backward computes the layer before. Two things
# that go on at one time **overlap**.

# %%
predict(
    "Every gradient travels alone, as soon as it is complete: eight messages in place of one. "
    "What is the price?",
    "none: the same bytes travel",
    "each message has a cost of its own",
    "the ranks may mix up the messages",
)

# %% [markdown]
# ## What a message costs
#
# An all-reduce of very few numbers takes nearly as long as one of a thousand. Let two ranks average
# one million numbers, in one message or in many.


# %%
def many_messages(count):
    x = torch.ones(1_000_000)
    times = []
    for _ in range(5):
        dist.barrier()
        begun = time.perf_counter()
        for part in x.chunk(count):
            dist.all_reduce(part)
        times.append(time.perf_counter() - begun)
    return 1e3 * sorted(times)[2]


counts = [1, 4, 16, 64, 256, 1024]
times = {n: launch(many_messages, 2, (n,), quiet=True, checked=False)[0] for n in counts}
title = f"{times[1]:.0f} ms in one message, {times[1024]:.0f} ms in 1024"
show(curves({"two ranks": times}, title, x="messages", y="ms"))

# %% [markdown]
# So neither one message nor one for each parameter is best. Put some parameters together into a
# **bucket**, and send a bucket when its last gradient is complete. Torch's
# `DistributedDataParallel`, **DDP**, does it with buckets of 25 MB.
#
# ## Three ways, by hand
#
# Flat: after backward, all at once. Hooks: each alone.

# %%
show_diff("DP/ddp/flat.py", "DP/ddp/hooks.py", context=1)

# %% [markdown]
# Buckets are in `DP/ddp/buckets.py`. The gradients are views of the bucket's one flat tensor: there
# is nothing to copy. One rule is easily forgotten: **all ranks must start their all-reduces in the
# same order.** So a bucket that is complete waits until those before it have left.
#
# Now three ranks train with each of them, and with torch's DDP.


# %%
def train(way):
    sys.path[:0] = ["../DP/ddp"]
    import intro_DDP

    flags = ["--steps", "8", "--seq-l", "64", "--bucket-mb", "1", "--average", way]
    options = intro_DDP.read_flags(flags)
    losses, _, trace = intro_DDP.train(options, find_place(), "cpu", lambda *_: None)
    return losses, trace


runs = {way: launch(train, 3, (way,), quiet=True) for way in ("flat", "hooks", "buckets", "ddp")}
for way, ranks in runs.items():
    calls = sum(e.kind == "all-reduce" for e in ranks[0][1].events) // 8
    print(f"{way:8} loss {ranks[0][0][-1]:.6f}, {calls} all-reduces a step")

# %% [markdown]
# The same losses. Here is one step with buckets. The gray bars are all-reduces; they begin while
# the rank still goes backward.


# %%
def one_step(way, number=5):
    first, *others = (trace for _, trace in runs[way])
    whole = first.merged(*others)
    ends = sorted(e.end for e in whole.events_of(0) if e.kind == "update")
    return whole.between(ends[number], ends[number + 1])


show(one_step("buckets"))

# %% [markdown]
# And torch's own. Its first bucket is smaller, so that it leaves early.

# %%
show(one_step("ddp"))

# %% [markdown]
# On two cores three ranks share what there is, so that overlap gains little here: who sends takes
# the core from who computes. On GPUs sending has hardware of its own. `make bench ONLY=ddp` races
# our buckets with DDP on your machine.
#
# ## The one that is complete last
#
# Some models use the embedding a second time, as their head: **tied weights**. Its gradient has two
# parts. One comes with the head, first of all; the other with the embedding, last of all. So it is
# complete last.

# %%
predict(
    "The tied weight is registered last, so it is in the bucket that should leave first. What "
    "happens?",
    "it leaves with half of its gradient",
    "all buckets wait for it, and nothing overlaps",
    "nothing special",
)


# %%
def tied_model():
    torch.manual_seed(0)
    table = torch.nn.ParameterDict({"table": torch.nn.Parameter(torch.randn(256, 256))})
    return torch.nn.ModuleDict({"middle": torch.nn.Linear(256, 256), "tied": table})


# %%
def tied(steps):
    sys.path[:0] = ["../DP/ddp"]
    from buckets import Buckets

    from helpers.trace import Recorder

    net = tied_model()
    buckets = Buckets(net, Recorder(0, enabled=False), megabytes=0.2, first=0.2)
    for _ in range(steps):
        made = [[buckets.numbers[p] for p in bucket.parameters] for bucket in buckets.buckets]
        x = net["middle"](torch.ones(8, 256) @ net["tied"]["table"]) @ net["tied"]["table"].T
        x.sum().backward()
        buckets.finish()
    return made


# %%
print("buckets of the first step: ", launch(tied, 2, (1,), quiet=True)[0])
print("buckets of the second step:", launch(tied, 2, (2,), quiet=True)[0])

# %% [markdown]
# The tied weight is number 2. In the first step its bucket should leave first, and all others wait
# for it. After the first backward our buckets, as DDP's, are made anew, in the order in which the
# gradients became complete. Now it comes last, and holds up nobody.
#
# ## What to remember
#
# - A gradient is complete when backward has passed its layer; a hook tells.
# - Each message has a cost of its own. Buckets: few messages, and they overlap with backward.
# - All ranks must start their all-reduces in the same order.
# - A tied weight is complete last.
#
# ## Exercises
#
# **Task DP-4: buckets.** Write the body of `complete` in `DP/ddp/buckets.py`.

# %%
check("DP-4")

# %% [markdown]
# **2.** A model has 100 MB of gradients, and a bucket holds 25 MB. The last layer alone has 60 MB.
# How many buckets are there, if the other layers have 1 MB each?

# %%
mine = None
answer(mine, lambda: 1 + -(-40 // 25))
