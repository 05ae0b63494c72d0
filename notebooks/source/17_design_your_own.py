# %% [markdown]
# # Design your own: a model, a cluster, a layout
#
# *Reading 30 minutes · tasks 45 · machine 1*
#
# *With twenty minutes: play with the sliders, then read the search and the price.*
#
# By now you can cut a training step in many ways: into replicas (lesson 03), stages and
# micro-batches (06), chunks (07), shards (11) and parts of layers (12), and you can recompute
# instead of storing (15). For one model and 512 GPUs that makes thousands of layouts. Most of them
# don't fit into memory, and some of those that do take many times as long as others. You can't try
# them all on a cluster that costs more than a thousand dollars an hour, but you can compute them.
#
# **Question.** GPT-3 has 175 billion parameters. How would you spread its training over 512 GPUs,
# how few would be enough, and what would it cost?

# %%
import sys
import time
from dataclasses import replace

import torch

from helpers.cluster import Layout, bars, estimate, memory_group, preset, time_group
from helpers.cost import ModelConfig, gpt
from helpers.draw import curves
from helpers.draw.text import time_text
from helpers.grade import check
from helpers.lesson import answer, claim, predict, quick, reveal, show
from helpers.simulate import OutOfMemory

# %% [markdown]
# ## One layout
#
# A **layout** is a handful of numbers: `dp` replicas, each cut into `pp` stages, each layer cut
# into `tp` parts, so $dp \cdot pp \cdot tp$ is the number of devices. Before the program computes
# the memory, do it yourself: 175 billion parameters, 8 stages, 8 parts of each layer, 8 replicas,
# and nothing sharded over the replicas. With 16 bytes for each parameter, as in lesson 15, how many
# GB of weights, gradients and optimizer states does each device hold?

# %%
mine = None
answer("L17-1", mine)

# %%
gpt3, h100 = gpt(hidden=12288, layers=96, heads=96), preset("H100")
today = {"flash": True, "overlap_tp": True, "overlap_dp": True}  # what software does by now
first = Layout(batch=512, dp=8, pp=8, tp=8, recompute="full", **today)
done = estimate(gpt3, first, h100, gpus=512)
print(done)
title = "Only two thirds of the step are matrix products"
show(bars([memory_group({"memory": done}), time_group({"time": done})], title))

# %% [markdown]
# Where do these numbers come from? The model is a list: each layer is some matrix products, some
# kernels that do little but read and write memory, and some collectives. The machine has a rate for
# each of them: FLOPs per second, bytes per second, and two networks, NVLink inside a node of eight
# GPUs and a slower one between the nodes. A small product doesn't reach the full rate, and a
# message has a latency. Then the pieces go into the simulator that you know from lesson 06. Here is
# what it does with 8 micro-batches for each pipeline instead of 64, so that you can see them all
# (with so few, the bubble is large):

# %%
show(estimate(gpt3, replace(first, batch=64), h100).simulated.trace)

# %% [markdown]
# `today` switches on FlashAttention (`flash`) and collectives that overlap with computing, because
# nearly everybody trains with both by now. Older measurements have to be predicted without what
# their software didn't have.
#
# ## Can you trust it?
#
# A model of a cluster is worth as much as its agreement with measurements that it hasn't seen. Ours
# has ten constants, which were fitted to 140 measured steps. Here are eight other measurements,
# which no constant was fitted to ([2205.05198](https://arxiv.org/abs/2205.05198), table 5, on
# A100s, without FlashAttention):

# %%
from helpers.cluster.validate import judged_recomputation

judged, factor = judged_recomputation()
for one in judged:
    claim(one.row.name, one.row.seconds, one.predicted, within=0.05, unit=" s")
print(f"one factor for this paper's software: {factor:.3f}")

# %% [markdown]
# The factor says how much slower this paper's software is than that of the 140 steps. It was set on
# single layers of another table of the paper, and it's in these predictions only. They're also
# among the best we can show: over 120 steps on one node the mean error is 7.7 % and the largest
# 30 %, because the model is weak on short steps of small models.
#
# For newer GPUs it's less certain. What share of its peak, memory and networks a program reaches
# on an H100 is taken from the A100, except for three constants, each of which was set on one
# published run on H100s. Of 34 other runs on H100s and H800s, among them FSDP, mixtures of experts
# and FP8, the model predicts 20 to within 15 %, and one takes more than twice as long as it says.
# For the B200 it has only the data sheet: no run on B200s was compared. `docs/cluster_model.md` has
# every row.
#
# ## Meet the limits
#
# Each number of a layout has its own limit. Change one at a time, and watch what grows.

# %%
predict(
    "L17-2",
    "Tensor parallelism over 16 GPUs instead of 8, on nodes of 8 GPUs; everything else stays, so "
    "there are twice as many GPUs. What happens to the time of a step?",
    "it halves: each device has half of the work",
    "it shrinks by a third or less",
    "it doubles",
)

# %%
wide = {f"tp {tp}": Layout(512, dp=8, pp=8, tp=tp, **today) for tp in (4, 8, 16)}
limits = {name: estimate(gpt3, layout, h100) for name, layout in wide.items()}
four, eight, sixteen = (one.seconds for one in limits.values())
shrinks = 1 - sixteen / eight
print(f"from 4 to 8: {1 - eight / four:.0%} shorter; from 8 to 16: {shrinks:.0%} shorter")
show(bars([time_group(limits)], "Across two nodes, messages grow while the products shrink"))
reveal("L17-2", shrinks=shrinks)

# %% [markdown]
# With 16 parts, every collective inside a layer has to cross the network between the nodes. Even
# with all eight network cards of a node sending side by side, it has less bandwidth than NVLink and
# a higher latency, and more ranks have to wait for each other. So the messages grow while the
# products halve, and each doubling of the GPUs buys less. That's why `tp` stays inside the NVLink
# domain, which is a node of 8 GPUs on most machines and a rack of 72 on some newer ones.

# %%
predict(
    "L17-3",
    "A pipeline has 8, 16 or 32 stages of 8 devices each, and as many replicas as 512 devices can "
    "hold. The batch stays the same. Which pipeline has the smallest bubble?",
    "8 stages, clearly",
    "32 stages, clearly: each stage is short",
    "it hardly matters",
)

# %%
deep = {f"pp {pp}": Layout(512, dp=64 // pp, pp=pp, tp=8, **today) for pp in (8, 16, 32)}
limits = {name: estimate(gpt3, layout, h100) for name, layout in deep.items()}
for name, one in limits.items():
    share = one.causes["bubble"] / one.seconds
    print(f"{name:>5}: {one.layout.micro_batches} micro-batches, bubble {share:.1%}")
show(bars([memory_group(limits)], "More stages leave fewer weights on each device"))
reveal("L17-3")

# %% [markdown]
# With more stages there are fewer replicas, so each pipeline gets more micro-batches. The bubble is
# $\frac{p-1}{m+p-1}$ of the step, and $m$ grows in proportion to $p$. What changes is memory. (That
# holds because the batch and the devices are fixed here. With a fixed number of micro-batches, a
# longer pipeline does have a larger bubble.)
#
# ## Why doesn't it fit?
#
# Most layouts don't fit, and then it helps to know which part is too large:

# %%
for change in ({"pp": 2, "dp": 32}, {"recompute": "none", "micro_batch": 4, "flash": False}):
    try:
        estimate(gpt3, replace(first, **change), h100).require_room()
    except OutOfMemory as error:
        print(error, end="\n\n")

# %% [markdown]
# Stages and parts divide the weights, the gradients and the optimizer states, and ZeRO divides them
# further. Activations are different: more stages don't help the first one at all, because each
# stage has fewer layers but the first one keeps as many micro-batches as there are stages. What
# helps is recomputation, smaller micro-batches or a larger `tp`.
#
# ## Try it
#
# With a running kernel this cell shows sliders. They start from the layout above, but without
# overlap, so the step takes a little longer. Fit GPT-3 on as few H100s as you can, and then make it
# fast. What stops you each time?

# %%
from helpers.cluster import design

start = {"dp": 8, "pp": 8, "tp": 8, "micro_batches": 64, "recompute": "full", "flash": True}
sliders = design(model="GPT-3, 175B", machine="H100", **start)
show(sliders.picture(), live=lambda: sliders)

# %% [markdown]
# ## Let the machine search
#
# By hand you look at a few layouts. A program can compute all of them in the time it takes you to
# move a slider, drop those that don't fit, and keep the fastest. That's what you write now.
#
# ### Your turn: CO-3 · 45 minutes · 20 points
#
# Write `choose_layout()` in `TP/choose_layout.py`: the fastest layout that fits, for a model, a
# machine, a number of devices and a batch. Which numbers can `tp`, `pp` and `dp` be? Which layouts
# are refused, and how?

# %%
check("CO-3")

# %% [markdown]
# The lab's own search tries interleaved chunks as well:

# %% tags=["time"]
from helpers.cluster import frontier, search

begun, found = time.perf_counter(), []
for how in ("none", "full"):
    found += search(gpt3, h100, gpus=512, batch=512, recompute=how, **today)
found.sort(key=lambda one: one.seconds)
print(f"{len(found)} layouts fit; the search took {time.perf_counter() - begun:.1f} seconds")
for one in found[:4]:
    print(one)
words = "seconds a step of the best layout, and of the first guess"
claim.below(words, found[0].seconds, done.seconds, spread=0.2)

# %% [markdown]
# Look at what the best one does differently. It cuts layers into four parts only, although a node
# has eight GPUs. It cuts its stages into chunks (lesson 07), which shrinks the bubble. And ZeRO 1
# (lesson 11) and sequence-parallel norms (lesson 12) free so much memory that nothing has to be
# recomputed. (With FlashAttention no attention scores are stored, so there's nothing to recompute
# selectively, and the search leaves that choice out.)
#
# But the best one fills most of the memory. What would you pay for less? The **frontier** holds the
# layouts that no other layout beats in both time and memory.

# %%
line = {"the frontier": {e.memory.total / 1e9: e.seconds for e in frontier(found)}}
least, fast = min(line["the frontier"]), found[0]
title = f"The fastest takes {fast.memory.total / 1e9:.0f} GB; one of {least:.0f} GB fits too"
show(curves(line, title, x="GB a device", y="seconds a step"))

# %%
best = frontier(found)
chosen = {"fastest": best[0], "in between": best[len(best) // 2], "smallest": best[-1]}
for name, one in chosen.items():
    print(f"{name:<11}{one.layout}")
title = "Less memory is bought with time: messages, the bubble, recomputation"
show(bars([memory_group(chosen), time_group(chosen)], title))

# %% [markdown]
# ## How few GPUs are enough?
#
# Weights, gradients and optimizer states take 16 bytes for each of the 175 billion parameters. How
# many H100s, with 80 GB each, does it take to hold just that?

# %%
mine = None
answer("L17-4", mine)

# %%
for gpus in (32, 64):
    try:
        print(gpus, search(gpt3, h100, gpus, batch=512, recompute="full", **today)[0])
    except OutOfMemory as error:
        print(gpus, error)

# %% [markdown]
# So 64 is the smallest power of two that works. (48 work as well. With fewer, either the
# activations don't fit beside the rest, or the layers and heads can't be cut evenly.) But is that
# the cheapest way to train?

# %%
predict(
    "L17-5",
    "Train GPT-3 on 300 billion tokens, on 64 H100s or on 512. How do the prices compare, if an "
    "hour of one GPU costs the same in both cases?",
    "512 cost eight times as much",
    "they cost about the same",
    "64 cost eight times as much, because it takes eight times as long",
)

# %%
DOLLARS = {"H100": 3.0, "B200": 6.0}  # for an hour of one GPU; an assumption, so put in your own
TOKENS, cost = 300e9, {}
for name, gpus in (("H100", 64), ("H100", 512), ("B200", 512)):
    one = search(gpt3, preset(name), gpus, batch=512, recompute="none", zero=1, **today)[0]
    hours, mfu = TOKENS / one.tokens_per_second / 3600, one.utilisation.mfu
    cost[name, gpus] = hours * gpus * DOLLARS[name]
    millions = cost[name, gpus] / 1e6
    print(f"{gpus:4} {name}: {hours / 24:5.0f} days, {millions:.2f} million dollars, MFU {mfu:.0%}")
ratio = cost["H100", 512] / cost["H100", 64]
claim("times as much that 512 H100s cost", ratio, 1, within=0.1)
reveal("L17-5", ratio=ratio)

# %% [markdown]
# You pay for GPU hours, so what decides is how well each hour is used. With more GPUs a little more
# of it is lost to messages and to the bubble, and what you buy for that is time: a model in weeks
# instead of months. (The batch stays at 512 sequences here. On thousands of GPUs you'd enlarge it,
# up to the critical batch size of lesson 03.)
#
# Now find two numbers yourself, with the functions of this lesson. The first is about Llama 3 8B on
# 8 H100s, without FlashAttention. Which power of two is the largest micro-batch that fits in
# `Layout(64, 8192, dp=8, micro_batch=…, recompute="full", zero=1)`?

# %%
llama = ModelConfig("llama", 4096, 32, 32, 8, 128, 14336, 128256, 8192)

mine = None
answer("L17-6", mine)

# %% [markdown]
# The second is about GPT-3 on 64 A100s, `Layout(64, pp=8, tp=8, chunks=…)`. By how many seconds is
# a step with 3 chunks on each device shorter than with 1? (To 0.1 s.)

# %%
mine = None
answer("L17-7", mine)

# %% [markdown]
# ## Your own machine
#
# All of these machines are far away, but the same model can be asked about the one in front of you.
# `measure()` times a large and a small matrix product, a copy and the start of a kernel, and builds
# a machine from them. So we can predict a step of the small LLaMA of lesson 01, and then run it.

# %%
sys.path[:0] = ["../primer"]
import intro

from helpers.cluster import measure

torch.set_num_threads(1)  # in this lab, one device is one core
options = intro.read_flags(["--steps", str(quick(12, 3))])
net = intro.make_model(options, intro.make_tokenizer(options))
c, heads = net.config, net.config.num_heads
sizes = c.dmodel, c.n_layers, heads, heads, c.dmodel // heads, c.hidden_dim, c.vocab_size
small = ModelConfig("llama", *sizes, positions=c.ctx_size)
here = measure()
layout = Layout(options.batch_size, options.seq_l, micro_batch=options.batch_size, recompute="none")
plan = estimate(small, layout, here)

# %% tags=["time"]
_, _, trace = intro.train(options)
kinds = ("F", "B", "update")
real = sum(min(e.duration for e in trace.events if e.kind == kind) for kind in kinds)
print(f"predicted {time_text(plan.seconds)}, measured {time_text(real)} (the fastest step)")
print({why: time_text(t) for why, t in plan.causes.items() if t > plan.seconds / 20})

# %% [markdown]
# On a CPU the prediction is rough, and on a busy machine even rougher: it may be off by a factor of
# two in either direction, because a step here consists of many tiny kernels, and the model was made
# for large ones.
#
# ## What to remember
#
# - Tensor parallelism stays inside the NVLink domain.
# - A pipeline needs many micro-batches. With a fixed batch, replicas take them away.
# - Recomputation buys memory with time; ZeRO 1 saves memory at almost no cost.
# - The price of a training run is its GPU hours. The fewest GPUs aren't much cheaper, only much
#   slower.
# - Compute first, then rent. A model with a few constants predicts most steps on hundreds of GPUs
#   to within ten percent. Trust it only as far as it has been compared with measurements that
#   didn't set its constants.
#
# ## In the wild
#
# - Llama 3 405B on 8,192 H100s (TP 8, PP 16, DP 64): 430 TFLOP/s a GPU, an MFU of 43 %. On 16,384,
#   with DP 128 and half the batch for each replica: 400 TFLOP/s, 41 %
#   ([2407.21783](https://arxiv.org/abs/2407.21783), table 4). That's twice the GPUs for nearly the
#   same price per token.
# - Megatron's 530 billion parameters on 2,520 A100s: TP 8, PP 35, DP 9, at 163 TFLOP/s a GPU
#   ([2104.04473](https://arxiv.org/abs/2104.04473), table 1).
# - GPT-3's shape on 64 A100s took 18.13 s a step with full recomputation, and 13.75 s with sequence
#   parallelism and selective recomputation ([2205.05198](https://arxiv.org/abs/2205.05198), table
#   5).
#
# Go and read `num_floating_point_operations` in Megatron-LM's `megatron/training/training.py`,
# which counts the FLOPs behind the TFLOP/s in its log. Which terms of lesson 15 do you find in it?
#
# ## Where next
#
# All of this assumed that the machines work and that somebody has started the ranks. [Lesson
# 18](18_beyond_one_machine.ipynb) leaves the single machine, where neither can be taken for
# granted.
