# %% [markdown]
# # DDP: buckets and overlap
#
# *Reading 25 minutes, tasks 40*
#
# *With twenty minutes: read up to "Your turn", then "How large should a bucket be?"*
#
# In lesson 03 computing and averaging took turns: the link was idle during backward, the processor
# during the all-reduce, and you paid for both. But the gradients of the last layer are complete
# long before those of the first. Why shouldn't they travel in the meantime?
#
# In most frameworks they do. PyTorch's `DistributedDataParallel`, **DDP**, sends gradients while
# backward is still running. You'll write its central function, predict how long a step takes with
# it, and see what even the best buckets can't hide.
#
# **Question.** How much of the sending hides behind computing, and in how many messages should the
# gradients travel?

# %%
import sys

import torch

from helpers.check import check, solve
from helpers.draw import curves, lanes
from helpers.lesson import claim, predict, reveal, show, show_code, show_diff
from helpers.network import Link, slow_link
from helpers.ranks import find_place, launch
from helpers.trace import Recorder

sys.path[:0] = ["../DP/ddp"]
import sweep
from sweep import Plan

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## A gradient is complete when backward has passed its layer
#
# Autograd says when. A **hook** is a function that it calls when something has happened, and
# `register_post_accumulate_grad_hook` registers one for the moment when a parameter's gradient is
# complete in `.grad`.

# %%
net = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(4)))
order = []
for name, p in net.named_parameters():
    p.register_post_accumulate_grad_hook(lambda p, name=name: order.append(name))
net(torch.randn(64, 512)).sum().backward()
print(*order)

# %% [markdown]
# Backward starts at the loss, so the last layer comes first. Its gradients can leave while backward
# is busy with the layer before it: communication and computing **overlap**. The simplest plan is to
# send every gradient from its hook, as soon as it's complete. Compared with the flat average of
# lesson 03, this is what changes:

# %% jupyter={"source_hidden": true}
show_diff("DP/ddp/flat.py", "DP/ddp/hooks.py", context=1)

# %% [markdown]
# ## Many small messages pay latency many times
#
# Lesson 03 measured what a message costs: $\alpha$ seconds however small it is, and $\beta$ seconds
# for each byte. A ring all-reduce over $n$ ranks takes $2(n-1)$ steps in a row, so $S$ bytes in $k$
# equal messages take
#
# $$T_{\text{sent}} = k \cdot 2(n-1)\,\alpha + \tfrac{2(n-1)}{n}\,\beta S.$$
#
# The bytes are the same for every $k$, but the latency isn't, and our small model already has 57
# weight tensors. Between two ranks, over 400 Mbit/s with half a millisecond of latency, each
# message takes two ring steps: 57 of them pay 57 ms of latency, on top of 44 ms for the 2.2 MB:

# %%
slow, total = Link(400, 0.5), 547_648 * 4
for messages in (1, 4, 57):
    seconds = messages * slow.all_reduce_seconds(total / messages, ranks=2)
    print(f"{messages:2} messages: {1e3 * seconds:5.1f} ms")

# %% [markdown]
# A single message, on the other hand, has to wait for the last gradient, and then nothing overlaps.
# The compromise is a **bucket**: a group of gradients that leave together, as soon as the last of
# them is complete. That's what DDP does.
#
# ### Your turn: DP-4 · 40 minutes · 20 points
#
# Write `Buckets.complete()` in `DP/ddp/buckets.py`. Autograd calls it each time the gradient of a
# parameter is complete. A bucket is one flat tensor, and the gradients of its parameters become
# views of it, so nothing has to be copied back after the all-reduce. One rule is easily forgotten:
# **all ranks must start their all-reduces in the same order**, because a collective has no name by
# which the ranks could recognize it. A bucket that is complete before its turn therefore waits for
# those ahead of it.

# %%
check("DP-4")

# %% [markdown]
# ## Four ways, one result
#
# Three ranks train with each of our three ways and with torch's DDP. Is it still the same training?
# And how do the two that use buckets cut the gradients, if both are told 1 MiB?


# %%
def train(way, steps):
    import intro_DDP

    flags = ["--steps", str(steps), "--average", way, "--bucket-mb", "1", "--seq-l", "64"]
    options = intro_DDP.read_flags(flags)
    losses, _, trace = intro_DDP.train(options, find_place(), "cpu", lambda *_: None)
    *_, before, last = sorted(e.end for e in trace.events if e.kind == "update")
    sent = [e for e in trace.events if e.kind == "all-reduce" and before < e.start < last]
    return losses[-1], [e.info["bytes"] for e in sorted(sent, key=lambda e: e.start)]


# %%
ways = ("flat", "hooks", "buckets", "ddp")
ranks = launch(lambda: {way: train(way, quick(8, 3)) for way in ways}, 3, quiet=True)
for way, (loss, sent) in ranks[0].items():
    sizes = ", ".join(f"{size / 2**20:.2f}" for size in sent[:3]) + " …" * (len(sent) > 3)
    print(f"{way:8} loss {loss:.6f}, {len(sent):2} all-reduces a step: {sizes} MiB")
last = [loss for loss, _ in ranks[0].values()]
off = max(last) - min(last)
print(f"the four losses differ by: {off:.1e}")
assert off < 1e-4

# %% [markdown]
# DDP closes a bucket once it has reached the given size. Ours never exceed it, unless a single
# gradient is larger, which then gets a bucket of its own.
#
# ## How large should a bucket be?
#
# **The best number of equal buckets balances the wait for the first one against the latencies of
# all.** Let forward take $t_F$ seconds, backward $t_B$, and all bytes together $t_S$ on the link.
# One of $k$ equal buckets then takes $c = 2(n-1)\alpha + t_S/k$. It begins its trip when its last
# gradient is complete *and* the bucket before it has arrived, because the link carries one at a
# time. Buckets are complete every $t_B/k$ seconds, so there are two cases:
#
# - The link keeps up, $c \le t_B/k$. Then each bucket has arrived when the next is complete, and
#   what sticks out at the end of backward is the last bucket, $c$.
# - It doesn't. Then the link waits for the first bucket, $t_B/k$, and is busy from then on, for
#   $kc$.
#
# $$T_\text{step} = t_F + \max\Bigl(t_B + c,\ \frac{t_B}{k} + kc\Bigr)$$
#
# In the second case that's $t_F + t_S + t_B/k + 2(n-1)\alpha k$. One term falls with $k$, one
# grows, and their sum is smallest where they're equal:
#
# $$\frac{t_B}{k} = 2(n-1)\,\alpha\,k \qquad\Longrightarrow\qquad k =
# \sqrt{\frac{t_B}{2(n-1)\,\alpha}}.$$
#
# In the first case only $c$ sticks out, and it falls with $k$. So take as many buckets as the link
# keeps up with, $k = \dfrac{t_B - t_S}{2(n-1)\,\alpha}$, if that's more. For buckets that aren't
# equal, the same two conditions are a loop of a few lines:

# %% jupyter={"source_hidden": true}
show_code("DP/ddp/sweep.py", "predicted")

# %% jupyter={"source_hidden": true}
predict(
    "buckets_and_overlap-2",
    "Computing takes T = 600 ms, a third of it forward and two thirds backward. Sending takes "
    "600 ms as well, plus 6 ms for each message. How long is a step with the best number of equal "
    "buckets?",
    "about T: the sending disappears behind the computing",
    "about 1.5 T",
    "about 2 T: one after the other",
)

# %% [markdown]
# Now measure. The two ranks below run real autograd hooks, your `complete()` and real all-reduces,
# over a link that `slow_link` holds back. Only the computing is replaced: each of the 64 layers
# sleeps for its share of $T$, and its gradient is a constant. Two ranks that sleep don't take each
# other's core, so you see almost what happens on two machines, even on a busy laptop.

# %% tags=["time"]
plan = Plan(seconds=0.6, sending=0.6, latency=0.003, ranks=2, layers=64)
counts = quick(sweep.COUNTS, (1, 8, 64))
swept = launch(sweep.measured, 2, (plan, counts), quiet=True, checked=False)[0]


def expected(plan, count):
    """The predicted step with so many buckets, as a trace."""
    size = plan.megabytes(count)
    return sweep.predicted(plan.gradients, plan.seconds, plan.link, plan.ranks, size)


# %% tags=["time"]
for count, seconds in swept.items():
    claim(f"{count:2} buckets, seconds a step", seconds, expected(plan, count).duration)
best = min(swept, key=swept.get)
claim("the best of them, as a multiple of T", swept[best] / plan.seconds, 1.5, within=0.1)
claim.below("it, and one message per gradient", swept[best], swept[counts[-1]], spread=0.1)
claim.below("it, and all gradients in one", swept[best], swept[1], spread=0.1)
reveal("buckets_and_overlap-2")

# %% tags=["time"]
both = {"predicted": {k: expected(plan, k).duration for k in counts}, "measured": swept}
show(curves(both, "Too few buckets can't overlap, too many pay latency", x="buckets",
            y="seconds a step", log="x"))  # fmt: skip

# %% [markdown]
# By the formula the lowest point is at $\sqrt{0.4 / 0.006} \approx 8$ buckets, and the valley
# around it is flat: twice or half as many cost 3 % more. What's measured lies a little above the
# formula, because each bucket also costs some processor time. So a bucket size isn't worth hours of
# tuning, but it should follow the machine. With more ranks a ring has more steps, $\alpha$ counts
# $2(n-1)$ times, and larger buckets pay; that's why Megatron-LM's default, 40 million gradients,
# grows with the number of replicas beyond 40.
#
# At a real scale: 126 replicas average over a ring with $\alpha$ = 10 µs. Backward takes 0.9 s, and
# the bytes 1.1 s, so the link can't keep up. A message pays $2 \cdot 125 \cdot 10$ µs = 2.5 ms of
# latency, and the best number of buckets is $\sqrt{0.9 / 0.0025} \approx 19$.
#
# ## How much of it hides?
#
# **Most of the sending can hide behind backward if $t_S \le t_B$, and nearly all of it well above
# that bound; for gradients of 16 bits it's lesson 10's, $F/B$ tokens. Below it, at least
# $t_S - t_B$ sticks out however you cut.** And even above it something always does: the last bucket
# or, at the bound itself, the wait for the first one and all latencies, by the formula a sixth of
# $T$ with eight buckets. (With gradient accumulation the gradients are sent during the backward of
# the *last* micro-batch, so it's the tokens of that one that count.)
#
# Below you see where the time goes in each of the four ways. All of them are measured, torch's DDP
# among them. (For each of its buckets DDP calls a Python function of ours in place of its own
# all-reduce, because that's what `slow_link` can hold back. It also waits for its messages inside
# backward, so we end its B where its last layer has computed. In the titles, *communicating* is
# what sticks out.)


# %%
def on_the_link(way, plan):
    from intro_DDP import averaging

    net, recorder = plan.paced(), Recorder(find_place().rank)
    model, finish = averaging(net, way, plan.megabytes(8), recorder)
    ends = []
    with slow_link(plan.link):
        for _ in range(5):
            seconds = sweep.step(model, net.clock, finish, recorder)
            ends.append((seconds, recorder.now(), net.clock.due))
    seconds, end, computed = min(ends[2:])  # DDP, too, makes its buckets anew after the first step
    trace = recorder.trace().between(end - seconds, end)
    for event in trace.events:
        event.end = min(event.end, computed) if event.kind == "B" else event.end
    return trace


# %% tags=["time"]
each = launch(lambda: {way: on_the_link(way, plan) for way in ways}, 2, quiet=True, checked=False)
messages = {"flat": 1, "hooks": 64, "buckets": 8, "ddp": 8}
for way, trace in each[0].items():
    claim(f"{way}, seconds a step", trace.duration, expected(plan, messages[way]).duration)
show(lanes(each[0], "A single message waits for the end of backward; buckets and hooks don't"))

# %% [markdown]
# Our buckets take as long as DDP's, because on paced ranks only the plan counts. What the plan
# leaves out is the work of averaging itself: starting messages, adding them up, copying gradients.
# Where cores are scarce, backward pays for it.
#
# On GPUs, too, sending isn't free for the computing. NCCL's collectives are kernels: they occupy
# some of the streaming multiprocessors and part of the memory bandwidth, and the matrix products
# that run meanwhile get slower. DeepSeek-V3 set 20 of an H800's 132 multiprocessors aside for the
# messages of its experts ([2412.19437](https://arxiv.org/abs/2412.19437), section 3.2.2).
# Compute-bound work takes 132/112 as long on the others, 18 % more, even if all messages hide.
#
# ## Tied weights come last
#
# Some models use the embedding a second time, as their head. The gradient of such **tied weights**
# has two parts, one from the head and one from the embedding.

# %% jupyter={"source_hidden": true}
predict(
    "buckets_and_overlap-4",
    "A tied weight is registered last, so it's in the bucket that should leave first. What "
    "happens in the first step?",
    "its bucket leaves with half of the gradient",
    "all buckets wait for it, so nothing overlaps",
    "its bucket is skipped and sent again at the end",
)

# %% jupyter={"source_hidden": true}
reveal("buckets_and_overlap-4")

# %% [markdown]
# The order in which layers are registered needn't be the order in which they're used, and tied
# weights are one example. So our buckets, and by default DDP's too, are rebuilt after the first
# backward, in the order in which the gradients became complete on rank 0. From then on the tied
# weight comes last, and no other bucket waits for it.
#
# ## In practice
#
# Three switches of DDP that you'll meet:
#
# - `no_sync()`: with gradient accumulation, only the last micro-batch needs to average. Inside
#   `with model.no_sync():` the gradients are only added up, if forward runs inside it, too. If you
#   forget it, each of the $m$ micro-batches sends everything: the result is the same, but the
#   traffic is $m$ times as large.
# - `find_unused_parameters=True`: a parameter that takes no part in this step's loss never calls
#   its hook, so its bucket never fills, and torch ends the next step with an error. With this
#   switch, DDP walks through the graph before each backward and marks such parameters as complete,
#   which costs time, and it doesn't rebuild its buckets (unless `static_graph=True`). Our `finish`
#   simply sends what's left, with zeros for what wasn't used.
# - `gradient_as_bucket_view=True`: the gradients live in the buckets, as ours do, which saves the
#   copy back and the memory of a second set.
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - A gradient is complete when backward has passed its layer, and a hook says so. Buckets send them
#   in few messages, all ranks in the same order.
# - With $k$ buckets of $c$ seconds, $T_\text{step} = t_F + \max(t_B + c,\ t_B/k + kc)$. The best
#   $k$ is near $\sqrt{t_B/(2(n-1)\,\alpha)}$, in a flat valley, or larger where the link keeps up.
# - With at least $F/B$ tokens (and gradients of 16 bits), backward takes as long as sending or
#   longer, and only the last bucket sticks out or, close to the bound, the wait for the first one
#   and the latencies. Below that no choice of buckets hides the rest, $t_S - t_B$.
#
# ## In the wild
#
# - DDP's paper reports near-linear scaling to 256 GPUs
#   ([2006.15704](https://arxiv.org/abs/2006.15704), abstract); from the second step on, buckets
#   hold 25 MiB by default, the first one 1 MiB.
#
# To read: in PyTorch, `Reducer::mark_variable_ready` in `torch/csrc/distributed/c10d/reducer.cpp`
# is your `complete`; look for `next_bucket_`. In Megatron-LM it's `register_grad_ready` in
# `megatron/core/distributed/param_and_grad_buffer.py`.
#
# ## Where next
#
# You've predicted where the time of a step goes. [Lesson 12](12_where_time_goes.ipynb) measures it.
