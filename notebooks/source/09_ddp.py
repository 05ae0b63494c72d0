# %% [markdown]
# # DDP: buckets and overlap
#
# *Reading 30 minutes · tasks 40 · machine 2*
#
# *With twenty minutes: read up to "Your turn", then "How large should a bucket be?"*
#
# In lesson 03 the ranks averaged their gradients after backward, so no processor computed while
# they averaged, and the network was idle while they computed. The two take turns and you pay for
# both, which easily doubles the step on a slow link.
#
# But does the network have to wait until backward is over? If some gradients are complete earlier
# than others, they could travel while the rest are still being computed.
#
# **Question.** How much of the communication can hide behind backward, and in how many messages
# should the gradients travel?

# %%
import sys

import torch

from helpers.draw import compare, curves
from helpers.grade import check
from helpers.lesson import answer, claim, predict, quick, reveal, show, show_diff
from helpers.network import Link, measured, slow_link
from helpers.ranks import find_place, launch

sys.path[:0] = ["../DP/ddp"]
import sweep

# %% [markdown]
# ## When is a gradient complete?

# %%
predict(
    "L09-1",
    "A network of four layers, 0 to 3. In which order are their gradients complete?",
    "0, 1, 2, 3: in the order of the forward",
    "3, 2, 1, 0: backward starts at the loss",
    "all at the same moment, when backward returns",
)

# %% [markdown]
# Autograd can tell us. A **hook** is a function that it calls when something has happened, and
# `register_post_accumulate_grad_hook` registers one for the moment when a parameter's gradient is
# complete in `.grad`.

# %%
net = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(4)))
order = []
for name, p in net.named_parameters():
    p.register_post_accumulate_grad_hook(lambda p, name=name: order.append(name))
net(torch.randn(64, 512)).sum().backward()
print(*order)
reveal("L09-1")

# %% [markdown]
# So the last layer's gradients can leave first, while backward is busy with the layer before it.
# Two things that happen at the same time **overlap**, and communication that overlaps with
# computing costs nothing extra, as long as there's enough to compute.
#
# ## The price of a message
#
# The simplest plan is to send every gradient on its own, as soon as it's complete. Compared with
# the flat version of lesson 03, this is what changes:

# %%
show_diff("DP/ddp/flat.py", "DP/ddp/hooks.py", context=1)

# %% [markdown]
# Lesson 03 fitted what a message costs: $\alpha$ seconds however small it is, plus $\beta$ seconds
# for each byte. A ring all-reduce over $n$ ranks makes $2(n-1)$ steps, one after the other, so for
# $S$ bytes in $k$ equal messages
#
# $$T_{\text{sent}} = k \cdot 2(n-1)\,\alpha + \tfrac{2(n-1)}{n}\,\beta S.$$
#
# The bytes are the same for every $k$, but the latency isn't. Our model's weights are 57 parameters
# in torch's sense, which means 57 tensors. So let's ask what 57 messages take on a link with half a
# millisecond of latency, and compare that with your own machine, using the numbers that lesson 03
# kept.

# %%
predict(
    "L09-2",
    "Two ranks, 2.2 MB of gradients, a link with 400 Mbit/s and a latency of 0.5 ms. The bytes "
    "alone take 44 ms. How long do 57 separate messages take?",
    "44 ms as well: the same bytes travel",
    "about 45 ms: one latency comes on top",
    "about 100 ms: more than half of it is latency",
    "about 2.5 s: 57 times as long",
)

# %% tags=["time"]
slow, (here, whose), total = Link(400, 0.5), measured(), 547_648 * 4
for messages in (1, 4, 57):
    there, inside = (
        1e3 * messages * link.all_reduce_seconds(total / messages, ranks=2) for link in (slow, here)
    )
    print(f"{messages:2} messages: {there:5.1f} ms, inside one machine {inside:4.1f} ms")
print(whose)
reveal("L09-2")

# %% [markdown]
# Neither extreme is good. One message per parameter pays for latency again and again, while a
# single message has to wait for the last gradient, and then nothing overlaps. The compromise is a
# **bucket**: a group of gradients that leave together, as soon as the last of them is complete.
#
# That's what torch's `DistributedDataParallel`, or **DDP**, does, and you'll write its central
# function.

# %% [markdown]
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
# Three ranks train with each of our three ways and with torch's DDP. First the question of every
# lesson: is it still the same training? And then, how many messages does each way take?


# %%
def train(way, steps, megabytes=1.0, *more):
    import intro_DDP

    flags = ["--steps", str(steps), "--average", way, "--bucket-mb", str(megabytes), *more]
    options = intro_DDP.read_flags(flags)
    losses, _, trace = intro_DDP.train(options, find_place(), "cpu", lambda *_: None)
    return losses, trace


def calls(trace):
    *_, before, last = sorted(e.end for e in trace.events if e.kind == "update")
    return sum(e.kind == "all-reduce" and before < e.start < last for e in trace.events)


# %%
ways, steps = ("flat", "hooks", "buckets", "ddp"), quick(8, 3)
ranks = launch(
    lambda: {way: train(way, steps, 1.0, "--seq-l", "64") for way in ways}, 3, quiet=True
)
for way in ways:
    losses, trace = ranks[0][way]
    print(f"{way:8} loss {losses[-1]:.6f}, {calls(trace)} all-reduces a step")
last = [ranks[0][way][0][-1] for way in ways]
claim.below("the four losses differ by less than", max(last) - min(last), 1e-4)

# %% [markdown]
# DDP cuts its buckets a little differently: it closes one only after it has grown past the given
# size, where ours stay below it. In both the first bucket is small on purpose (1 MiB by default),
# so that the network has something to do early.
#
# ## How large should a bucket be?
#
# Now the experiment that decides. We need a link on which communication matters, so the lesson
# measures how long your machine computes and then uses `slow_link` to hold every message back, as
# if on a link where sending takes just as long. Two ranks train on it, and the size of a bucket
# goes from "every gradient alone" to "all in one".
#
# We can also predict the result. Without sending anything, we measure when each gradient is
# complete. A bucket then begins its trip when its last gradient is complete *and* the bucket before
# it has arrived, because the link carries one message at a time:
#
# $$\text{begin}_i = \max(\text{complete}_i,\ \text{end}_{i-1}), \qquad
# \text{end}_i = \text{begin}_i + 2(n-1)\alpha + \tfrac{2(n-1)}{n}\beta S_i,$$
#
# and the step ends when the last bucket has arrived. `DP/ddp/sweep.py` predicts the steps this way,
# and measures them.

# %%
predict(
    "L09-3",
    "Computing alone (forward and backward) takes T, and sending alone takes T as well. How long "
    "is a step with the best buckets?",
    "about T: the sending disappears behind the computing",
    "about 1.4 T",
    "about 2 T: one after the other",
)

# %% tags=["time"]
flags = ["--batch-size", "4", "--seq-l", "128"]
sizes = sweep.SIZES if quick(1, 0) else (0.001, 0.2, 4.0)
found = launch(sweep.both, 2, (flags, sizes, quick(6, 1)), quiet=True, checked=False)
gradients, computed, link, swept = found[0]
steps_of = {mb: sweep.predicted(gradients, computed, link, 2, mb) for mb in sizes}
count = {mb: len(sweep.cut(gradients, mb)) for mb in sizes}
ms = {
    "predicted": {count[mb]: 1e3 * steps_of[mb].duration for mb in sizes},
    "measured": {count[mb]: 1e3 * swept[mb] for mb in sizes},
}
best = min(sizes, key=swept.get)
title = f"The fastest step has {count[best]} buckets"
show(curves(ms, title, x="buckets", y="ms a step"))

# %% tags=["time"]
apart = max(abs(swept[mb] / steps_of[mb].duration - 1) for mb in sizes)
print(f"T = {1e3 * computed:.0f} ms; the prediction is at most {apart:.0%} off")
words = f"ms with buckets of {best:g} MB, and with"
claim.below(f"{words} one message per gradient", 1e3 * swept[best], 1e3 * swept[sizes[0]], 0.1)
claim.below(f"{words} all gradients in one", 1e3 * swept[best], 1e3 * swept[sizes[-1]], 0.1)
reveal("L09-3", ratio=swept[best] / computed)

# %% [markdown]
# Here are three of the predicted steps, one below the other: the right end of the curve, its lowest
# point, and its left end.

# %% tags=["time"]
arms = {"each alone": sizes[0], f"{best:g} MB": best, "all in one": sizes[-1]}
show(compare({name: steps_of[mb] for name, mb in arms.items()}))

# %% [markdown]
# Two things bound the best step from below. It can't be shorter than the longer of computing and
# sending, and sending can't start before backward does, so nothing is ever hidden behind the
# forward. If sending takes much less time than backward, there's little to save; if it takes much
# more, the step is nearly all communication, and no bucket helps. So before you tune a bucket,
# compare the two.
#
# The curve also says what to do on another machine. With a higher latency its right arm, where
# messages are many, becomes steeper, so larger buckets pay. The same goes for more ranks, because a
# ring makes $2(n-1)$ steps, and that's why Megatron-LM lets its buckets grow with the number of
# replicas.
#
# ## Side by side
#
# Now all four ways, torch's DDP among them, train on the same link. We keep the fastest step of
# each, because a slow one only tells you what else your computer was doing.


# %%
def on_the_link(way, steps, megabytes):
    with slow_link(link):
        _, trace = train(way, steps, megabytes, *flags)
    updates = sorted(e.start for e in trace.events if e.kind == "update")
    begun = sorted(e.start for e in trace.events if e.kind == "F")
    steps = list(zip(begun, updates, strict=True))[2:]
    start, end = min(steps, key=lambda step: step[1] - step[0])
    return end - start, trace.between(start, end)


# %% tags=["time"]
steps = quick(8, 3)
each = launch(
    lambda: {way: on_the_link(way, steps, 0.2) for way in ways}, 2, quiet=True, checked=False
)[0]
for way, (seconds, _) in each.items():
    print(f"{way:8} {1e3 * seconds:6.1f} ms from forward to the last average")
ms = {way: 1e3 * seconds for way, (seconds, _) in each.items()}
claim.below("ms with buckets, and with the flat average", ms["buckets"], ms["flat"], spread=0.05)
claim("our buckets, beside DDP", ms["buckets"], ms["ddp"], within=0.5, unit=" ms",
      because="no rank is paced here, and DDP copies in C++")  # fmt: skip
show(compare({"flat": each["flat"][1], "buckets": each["buckets"][1]}))

# %% [markdown]
# In the lower half the all-reduces begin while the rank is still computing its backward.
# (`bench/ddp.py` races our buckets against DDP more strictly: without a slow link, on the same
# ranks, one step of each in turn.)
#
# Is overlap free, then? Compare the two backwards in the picture. A message that's held back only
# waits, but adding and copying take a core, and where cores are scarce, backward takes longer while
# messages travel. On GPUs it's much the same. NCCL's collectives are kernels themselves: they
# occupy some of the streaming multiprocessors and part of the memory bandwidth, and the matrix
# products that run at the same time get slower. DeepSeek-V3 set 20 of an H800's 132 multiprocessors
# aside for communication ([2412.19437](https://arxiv.org/abs/2412.19437), section 3.2.2). Overlap
# still pays, but a step with perfect overlap takes a little more than the longer of the two.
#
# ## Tied weights
#
# Some models use the embedding a second time, as their head. The gradient of such **tied weights**
# has two parts, one from the head and one from the embedding.

# %%
predict(
    "L09-4",
    "Our tied weight is registered last, so it's in the bucket that should leave first. What "
    "happens in the first step?",
    "its bucket leaves with half of the gradient",
    "all buckets wait for it, so nothing overlaps",
    "its bucket is skipped and sent again at the end",
)


# %%
def tied_model():
    torch.manual_seed(0)
    table = torch.nn.ParameterDict({"table": torch.nn.Parameter(torch.randn(256, 256))})
    return torch.nn.ModuleDict({"middle": torch.nn.Linear(256, 256), "tied": table})


# %%
def tied(steps):
    from buckets import Buckets

    from helpers.trace import Recorder

    net = tied_model()
    buckets = Buckets(net, Recorder(0, enabled=False), megabytes=0.2, first=0.2)
    leave, complete = buckets.leave, []
    buckets.leave = lambda bucket: (complete.append(len(buckets.seen)), leave(bucket))
    for _ in range(steps):
        complete.clear()
        made = [[buckets.numbers[p] for p in bucket.parameters] for bucket in buckets.buckets]
        x = net["middle"](torch.ones(8, 256) @ net["tied"]["table"]) @ net["tied"]["table"].T
        x.sum().backward()
        buckets.finish()
    return made, complete[0]


# %%
for step in (1, 2):
    made, complete = launch(tied, 2, (step,), quiet=True)[0]
    print(f"step {step}: buckets with the parameters {made}; the first one leaves when ", end="")
    print(f"{complete} of 3 gradients are complete")
reveal("L09-4")

# %% [markdown]
# Parameter 2 is the tied weight. The hook fires only when both parts have been added, so no half
# gradient ever leaves; but the other buckets have to keep the order, and they wait behind it.
# That's why our buckets, and DDP's too, are rebuilt after the first backward, in the order in which
# the gradients became complete on rank 0. From then on the tied weight comes last, and no other
# bucket waits for it.
#
# ## Sending less
#
# When sending takes longer than computing, no choice of buckets can hide it, and the only way out
# is to send fewer bytes. DDP can call a **communication hook** for each bucket in place of its
# all-reduce, and the hook may do what it wants. Two of the classics:
#
# - **16 bits.** Half the bytes, and the mean is rounded. Torch has it as `fp16_compress_hook`.
# - **Top-k.** Send only the largest one percent, as pairs of a value and its index. What isn't sent
#   is lost, or, with **error feedback**, kept and added to the next step's gradient.

# %%
predict(
    "L09-5",
    "Each rank sends only the largest 1 % of its gradient and drops the rest. What does this do to "
    "the training, and what does error feedback change?",
    "nothing much either way: the largest gradients are what matters",
    "dropping slows the training down; with feedback most of that comes back",
    "dropping slows it down a lot, and feedback helps little in so few steps",
)


# %%
hooks = {
    "32 bits": [],
    "16 bits": ["--compress", "half"],
    "1 %, dropped": ["--compress", "top-lossy"],
    "1 %, feedback": ["--compress", "top"],
}
small, steps = ["--seq-l", "64", "--batch-size", "4"], quick(60, 3)
by_hook = launch(
    lambda: {name: train("ddp", steps, 1.0, *small, *more)[0] for name, more in hooks.items()},
    2,
    quiet=True,
)[0]

# %% tags=["training"]
end = {name: sum(run[-10:]) / len(run[-10:]) for name, run in by_hook.items()}
print(*(f"{name}: {loss:.2f}" for name, loss in end.items()), sep="\n")
claim("where 16 bits end, and 32 bits", end["16 bits"], end["32 bits"], within=0.03)
show(curves({name: by_hook[name] for name in ("32 bits", "1 %, dropped", "1 %, feedback")}))
reveal("L09-5", kept=end["1 %, feedback"], dropped=end["1 %, dropped"], full=end["32 bits"])

# %% [markdown]
# Error feedback comes with a proof for SGD, where a gradient that arrives late still moves the
# weights by the same amount. But our run uses Adam, which divides each gradient by its usual size,
# and a sum that arrives rarely and all at once doesn't have the usual size. 1-bit Adam solves this
# by freezing these sizes after a warm-up and compressing only from then on
# ([2102.02888](https://arxiv.org/abs/2102.02888)). To compare, add the flags `--optimizer sgd --lr
# 0.3` to `small`.

# %% [markdown]
# ## In practice
#
# Three switches of DDP that you'll meet:
#
# - `no_sync()`: with gradient accumulation, only the last micro-batch may average. Inside `with
#   model.no_sync():` the gradients are only added up. If you forget it, each of the $k$
#   micro-batches sends everything: the result is the same, but the traffic is $k$ times as large.
# - `find_unused_parameters=True`: a parameter that takes no part in this step's loss never calls
#   its hook, so its bucket never fills, and torch ends the next step with an error. With this
#   switch, DDP walks through the graph before each backward and marks such parameters as complete,
#   which costs time. Our `finish` simply sends what's left, with zeros for what wasn't used.
# - `gradient_as_bucket_view=True`: the gradients live in the buckets, as ours do, which saves a
#   copy as large as the model.
#
# Two numbers to check yourself with. A model has 100 MB of gradients, and a bucket holds at most 25
# MB. The last layer alone has 60 MB, and each of the other 40 layers has 1 MB. How many buckets are
# there? (Take one size for all buckets, and cut as our code does.)

# %%
mine = None
answer("L09-6", mine)

# %% [markdown]
# And one about `no_sync`: 8 micro-batches are accumulated, and the gradients fill 4 buckets. How
# many all-reduces does a rank take part in for one update, if you forget `no_sync`?

# %%
mine = None
answer("L09-7", mine)

# %% [markdown]
# ## What to remember
#
# - A gradient is complete when backward has passed its layer, and a hook tells you.
# - A message costs alpha + beta x bytes. Many small ones pay for latency, and a single one can't
#   overlap; the best bucket lies in between.
# - The step can't be shorter than the longer of computing and sending, and nothing can be sent
#   during the forward.
# - All ranks must start their all-reduces in the same order.
# - A tied weight is complete last, so the buckets are rebuilt after the first step.
#
# ## In the wild
#
# - DDP's paper reports near-linear scaling to 256 GPUs
#   ([2006.15704](https://arxiv.org/abs/2006.15704), abstract); buckets hold 25 MB by default, the
#   first one 1 MiB.
# - Deep Gradient Compression sends top-k with error feedback and reports 270 to 600 times fewer
#   bytes without loss of accuracy ([1712.01887](https://arxiv.org/abs/1712.01887), abstract).
# - DeepSeek-V3 keeps 20 multiprocessors of each GPU for communication
#   ([2412.19437](https://arxiv.org/abs/2412.19437), section 3.2.2).
#
# To read: in PyTorch, `Reducer::mark_variable_ready` in `torch/csrc/distributed/c10d/reducer.cpp`
# is your `complete`; look for `next_bucket_`. In Megatron-LM it's `register_grad_ready` in
# `megatron/core/distributed/param_and_grad_buffer.py`.
#
# ## Where next
#
# You've predicted where the time of a step goes. [Lesson 10](10_profiling_and_input.ipynb) measures
# it, in programs you didn't write, and finds a cause that no bucket cures: the input.
