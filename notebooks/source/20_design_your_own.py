# %% [markdown]
# # Design your own: a model, a cluster, a layout
#
# *Reading 45 minutes, tasks 45*
#
# *With twenty minutes: play with the sliders, then read the search and the price.*
#
# By now you can cut a training step in many ways: into replicas (lesson 03), stages and
# micro-batches (06), chunks (07), shards (13) and parts of layers (14), and you can recompute
# instead of storing (09). For one model and 512 GPUs that makes thousands of layouts. Most of them
# don't fit into memory, and some of those that do take many times as long as others. You can't try
# them all on a cluster that costs over a thousand dollars an hour, but you can calculate each.
#
# **Question.** GPT-3 has 175 billion parameters. How would you spread its training over 512 GPUs,
# how few would be enough, and what would it cost?

# %%
import time
from dataclasses import replace

from helpers.check import check, solve
from helpers.cluster import Layout, estimate, memory_bars, preset, time_bars
from helpers.cost import bill, gpt
from helpers.lesson import answer, claim, predict, reveal, show, vary
from helpers.simulate import OutOfMemory

# %% [markdown]
# ## One layout
#
# A **layout** is a handful of numbers: `dp` replicas, each cut into `pp` stages, each layer cut
# into `tp` parts, so $dp \cdot pp \cdot tp$ is the number of devices. Before a program computes
# anything, do it yourself: 175 billion parameters, 8 stages, 8 parts of each layer, 8 replicas, and
# nothing sharded over the replicas. With 16 bytes for each parameter, as in lesson 09, how many GB
# of weights, gradients and optimizer states does each device hold?

# %%
mine = None
answer("design_your_own-1", mine)

# %% [markdown]
# ## A step by hand
#
# Three things take nearly all of a step, on each of the $p\,n$ GPUs of a replica with $p$ stages
# and layers cut over $n$ ranks. Say sequences have $s$ tokens and layers a width of $d$, and one
# sequence is a micro-batch:
#
# - **Products.** Forward takes 2 FLOPs per parameter and token, backward 4, and since we recompute
#   everything, forward comes twice: 8 in all. (Attention's own products add 3 %.)
# - **Messages inside the layers.** Each layer ends two products with an all-reduce of its $S = 2sd$
#   bytes, in forward and again in the recomputation: 4. Each begins with a latency $\alpha$. Those
#   of backward hide behind products, at least on paper.
# - **Everything between the products**: norms, dropouts, residual sums. They move 86 bytes of
#   memory for each of the $s\,d$ values, 22 in each forward and 42 in backward.
#
# And the pipeline adds its bubble, $p - 1$ micro-batches to the $m$ that do the work. With the $t$
# tokens that a replica reads in a step,
#
# $$T \approx \left(1 + \frac{p-1}{m}\right) \left[\frac{8\,P\,t}{p\,n\,F} + m\,
# \frac{\text{layers}}{p} \left(4 \left(\alpha + \frac{2(n-1)}{n} \frac SB\right) +
# \frac{86\,s\,d}{M}\right) \right].$$
#
# Data sheets would put peaks here. These are the rates that programs reach, by the model that this
# lesson is about to judge: $F = 503$ TFLOP/s in a layer's products that are cut into 8 parts,
# $B = 371$ GB/s over NVLink, $M = 2{,}750$ GB/s of memory, and $\alpha = 56$ µs for an all-reduce
# among eight GPUs.
#
# With a batch of 512 sequences of 2,048 tokens and 96 layers with a width of 12,288:

# %%
P, d, s, layers = 175e9, 12288, 2048, 96
p, n, m = 8, 8, 512 // 8
F, B, M, alpha = 503e12, 371e9, 2750e9, 56e-6
products = 8 * P * m * s / (p * n * F)
messages = m * layers / p * 4 * (alpha + 2 * (n - 1) / n * 2 * s * d / B)
between = m * layers / p * 86 * s * d / M
by_hand = (1 + (p - 1) / m) * (products + messages + between)

# %% jupyter={"source_hidden": true}
print(f"products {products:.2f} s, messages {messages:.2f} s, between them {between:.2f} s")
print(f"with the bubble: {by_hand:.2f} s")

# %% [markdown]
# Now the program, for the same layout:

# %%
gpt3, h100 = gpt(hidden=12288, layers=96, heads=96), preset("H100")
today = {"flash": True, "overlap_tp": True, "overlap_dp": True}  # what software does by now
first = Layout(batch=512, dp=8, pp=8, tp=8, recompute="full", **today)
done = estimate(gpt3, first, h100, gpus=512)
print(done)
how = "by the program"
claim("a step, by hand", done.seconds, by_hand, within=0.1, unit=" s", how=how)

# %% [markdown]
# The rates are the program's own, so this compares two calculations, and no measurement yet. What
# differs is what we left out: attention's scores and the head, averaging gradients over the
# replicas, the update, activations sent between stages, smaller kernels, and waiting for the host.

# %% jupyter={"source_hidden": true}
show(memory_bars({"memory": done}, "Two thirds of the memory are the optimizer's"))
show(time_bars({"time": done}, "About 70 % of the step are matrix products"))

# %% [markdown]
# A small product doesn't reach the full rate, and outside of a node of eight GPUs the network is
# slower. The program counts both, and adds the pieces up in closed form, as you just did. To show
# you the step, the simulator of lesson 06 runs the same pieces with 8 micro-batches for each
# pipeline instead of 64, so that you can see them all (with so few, the bubble is large). The
# memory below each rank is that of its activations alone, which comes on top of the 44 GB:

# %% jupyter={"source_hidden": true}
show(estimate(gpt3, replace(first, batch=64), h100).simulated.trace)

# %% [markdown]
# `today` switches on FlashAttention (`flash`) and collectives that overlap with computing, because
# nearly everybody trains with both by now. To predict an older measurement, switch off what its
# software didn't have yet.
#
# ## Can you trust it?
#
# A model of a cluster is worth as much as its agreement with measurements that it hasn't seen. Ours
# has ten constants, which were fitted to 140 measured steps. Here are eight others, on A100s
# without FlashAttention ([2205.05198](https://arxiv.org/abs/2205.05198), table 5). They are **held
# out**: none of them set a constant. One number does belong to this paper alone: how much slower
# its software is than that of the 140 steps. It was set on the single layers of another table.

# %%
from helpers.cluster.validate import judged_recomputation

judged, factor = judged_recomputation()

# %% jupyter={"source_hidden": true}
for one in judged:
    claim(f"held out: {one.row.name}", one.row.seconds, one.predicted, within=0.05, unit=" s")
print(f"one factor for this paper's software: {factor:.3f}")

# %% [markdown]
# These eight are among our best. Over the 120 of the 140 fitted steps that ran on one node the mean
# error is still 7.7 % and the largest 30 %, because the model is weak on short steps of small
# models.
#
# For newer GPUs it's less certain. The shares of memory and network bandwidth that an H100 reaches
# are the A100's. Three constants were set on four published runs on H100s, and these judge nothing.
# Of 34 other runs on H100s and H800s, among them FSDP, mixtures of experts and FP8, the model
# predicts 19 to within 15 %; the worst took more than twice as long as predicted. For the B200 it
# takes the data sheet and the H100's shares: no run on B200s was compared.
# `python -m helpers.cluster.validate` prints every row, and `docs/cluster_model.md` says what they
# mean.
#
# ## Meet the limits
#
# Each number of a layout has its own limit. Change one at a time, and watch what grows. First `tp`:
# with twice the parts there are twice as many GPUs. Does a step halve?

# %%
wide = {f"tp {tp}": Layout(512, dp=8, pp=8, tp=tp, **today) for tp in (4, 8, 16)}
limits = {name: estimate(gpt3, layout, h100) for name, layout in wide.items()}
four, eight, sixteen = (one.seconds for one in limits.values())
shrinks = 1 - sixteen / eight

# %% jupyter={"source_hidden": true}
print(f"from 4 to 8: {1 - eight / four:.0%} shorter; from 8 to 16: {shrinks:.0%} shorter")
show(time_bars(limits, "Across two nodes, messages grow while the products shrink"))

# %% [markdown]
# It doesn't. With 16 parts, every collective
# inside a layer has to cross the network between the nodes. Even with all eight network cards of a
# node sending side by side, it has less bandwidth than NVLink and a higher latency, and more ranks
# have to wait for each other. So the messages grow while the products halve, and each doubling of
# the GPUs buys less. That's why `tp` stays inside the NVLink domain, which is a node of 8 GPUs on
# most machines and a rack of 72 on some newer ones. (The layout with 4 parts only serves the
# comparison: it needs 90 GB before any activations. And take the 28 % as 28 to 38: of the 140
# measured steps only one cuts layers across nodes, and the model predicts 16 % too much for it.)

# %% jupyter={"source_hidden": true}
predict(
    "design_your_own-3",
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

# %% jupyter={"source_hidden": true}
show(memory_bars(limits, "More stages leave fewer weights on each device"))
reveal("design_your_own-3")

# %% [markdown]
# With more stages there are fewer replicas, so each pipeline gets more micro-batches. The bubble is
# $\frac{p-1}{m+p-1}$ of the time in the pipeline (a little less of the whole step, which also
# averages gradients and updates), and $m$ grows in proportion to $p$. What changes is memory. (That
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
# Pipeline stages and tensor parallelism divide the weights, the gradients and the optimizer states,
# and ZeRO divides them further. Activations are different: more stages don't help the first one at
# all, because each stage has fewer layers but the first one keeps as many micro-batches as there
# are stages. What helps is recomputation, smaller micro-batches or a larger `tp`.
#
# ## Try it
#
# With a running kernel this cell shows sliders, which start from the layout above. Fit GPT-3 on as
# few H100s as you can, and then make it fast. What stops you each time?


# %%
def designed(dp, pp, tp, chunks, micro_batches, recompute, zero):
    """Where this layout's step time goes, in bars, or why there is none."""
    sizes = dict(dp=dp, pp=pp, tp=tp, chunks=chunks, recompute=recompute, zero=zero)
    try:
        done = estimate(
            gpt3, Layout(batch=dp * micro_batches, **sizes, **today), h100
        ).require_room()
        mfu, held = done.utilisation.mfu, done.memory.total / 1e9
        title = f"{dp * pp * tp} GPUs, {dp * micro_batches} sequences: {done.seconds:.3g} s, "
        title += f"MFU {100 * mfu:.0f} %, {held:.0f} GB on each device"
        return time_bars({"time": done}, title)
    except (OutOfMemory, ValueError) as error:
        return str(error)


# %% jupyter={"source_hidden": true}
vary(
    designed,
    dp=(8, 1, 2, 4, 16, 32),
    pp=(8, 1, 2, 4, 16, 32),
    tp=(8, 1, 2, 4),
    chunks=(1, 2, 3, 4),
    micro_batches=(64, 1, 2, 4, 8, 16, 32, 128),
    recompute=("full", "selective", "none"),
    zero=(0, 1, 2, 3),
)

# %% [markdown]
# ## Let the machine search
#
# By hand you look at a few layouts. A program can compute all of them in the time it takes you to
# move a slider, drop those that don't fit, and keep the fastest. That's what you write now.
#
# ### Your turn: CO-3 · 45 minutes · 25 points
#
# Write `choose_layout()` in `TP/choose_layout.py`: the fastest layout that fits, for a model, a
# machine, a number of devices and a batch. Which numbers can `tp`, `pp` and `dp` be? Which layouts
# are refused, and how?

# %%
check("CO-3")

# %% [markdown]
# Your layout runs on 512 GPUs, as `tp` 8, `pp` 8, `dp` 8, with a batch of 512 sequences. One node
# of eight fails, and there's no spare. `tp`, `pp` and the batch of 512 stay, and all replicas read
# the same number of sequences. On how many GPUs can training go on?

# %%
mine = None
answer("design_your_own-9", mine)

# %% [markdown]
# The lab's own search tries interleaved chunks as well. (With `zero=3` it tries FSDP, and with
# `cp=2` sequences that are cut in two.)

# %% tags=["time"]
from helpers.cluster import search

begun, found = time.perf_counter(), []
for recompute in ("none", "full"):
    found += search(gpt3, h100, gpus=512, batch=512, recompute=recompute, **today)
found.sort(key=lambda one: one.seconds)
print(f"{len(found)} layouts fit; the search took {time.perf_counter() - begun:.1f} seconds")
for one in found[:4]:
    print(one)

# %% tags=["time"] jupyter={"source_hidden": true}
words = "seconds a step of the best layout, and of the first guess"
claim.below(words, found[0].seconds, done.seconds)

# %% [markdown]
# Look at what the best one does differently. (The first four are closer to each other than the
# model's own error, so don't ask which of them wins.) It cuts layers into four parts only, although
# a node has eight GPUs: the products are larger, and less is sent. It cuts its stages into chunks
# (lesson 07), which shrinks the bubble. And ZeRO 1 (lesson 13) and the sequence-parallel norms of
# lesson 14 free so much memory that nothing has to be recomputed. (With FlashAttention no attention
# scores are stored, so the selective recomputation of lesson 09 has nothing left to do, and the
# cell above skips it. Others recompute norms or the inner activations of an MLP; the search
# doesn't.)
#
# Which of the machine's numbers decides the shape of the layout? Make four of them worse, one at a
# time, and search again:

# %%
inside, between = h100.inside, h100.between
for what, worse in {
    "as it is": {},
    "products at 70 %": {"matmul": 0.7 * h100.matmul},
    "half of NVLink": {"inside": replace(inside, bandwidth=inside.bandwidth / 2)},
    "half of the network card": {"between": replace(between, bandwidth=between.bandwidth / 2)},
    "70 % of the capacity": {"memory": 0.7 * h100.memory},
}.items():
    machine, found = replace(h100, **worse), []
    for recompute in ("none", "full"):
        found += search(gpt3, machine, gpus=512, batch=512, recompute=recompute, **today)
    best = min(found, key=lambda one: one.seconds)
    print(f"{what:24} dp {best.layout.dp} x pp {best.layout.pp} x tp {best.layout.tp}, "
          f"recompute {best.layout.recompute}, {best.seconds:.2f} s")  # fmt: skip

# %% [markdown]
# At these factors, slower products and links cost seconds but leave the three numbers as they were;
# less room in memory doubles the stages and halves the replicas.
#
# But the best one fills most of the memory, by a model that counts what training keeps. Allocators
# and frameworks take more: two published FSDP runs reserved about 20 GB above what this model says
# (`docs/cluster_model.md`), so leave room.
#
# ## How few GPUs are enough?
#
# Weights, gradients and optimizer states take 16 bytes for each of the 175 billion parameters. How
# many H100s, with 80 GB each, does it take to hold just that?

# %%
mine = None
answer("design_your_own-4", mine)

# %% jupyter={"source_hidden": true}
for gpus in (32, 64):
    try:
        print(gpus, search(gpt3, h100, gpus, batch=512, recompute="full", **today)[0])
    except OutOfMemory as error:
        print(gpus, error)

# %% [markdown]
# So 64 is the smallest power of two that works. GPT-3 even fits on them without recomputation,
# which is faster; the prices below assume it, although it takes 77 of the 80 GB, which leaves less
# room than we just told you to leave. (48 work as well, by the model. With fewer, either the
# activations don't fit beside the rest, or the layers and heads can't be cut evenly.) But is that
# the cheapest way to train?

# %% jupyter={"source_hidden": true}
predict(
    "design_your_own-5",
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

# %% jupyter={"source_hidden": true}
claim("price on 512 H100s over price on 64", ratio, 1, within=0.1, how=how)
reveal("design_your_own-5", ratio=ratio)

# %% [markdown]
# You pay for GPU hours, so what matters is how well you use each hour. With more GPUs a little more
# of it is lost to messages and to the bubble, and what that buys you is time: a model in weeks
# instead of months. But 64 GPUs could do that only with full memories. With the 20 GB left free,
# they have to cut the model further, and the few lose what little they were ahead:

# %%
for gpus in (64, 512):
    ways = [one for recompute in ("none", "full")
            for one in search(gpt3, h100, gpus, batch=512, recompute=recompute, zero=1, **today)
            if one.memory.total < 60e9]  # fmt: skip
    one = min(ways, key=lambda one: one.seconds)
    millions = TOKENS / one.tokens_per_second / 3600 * gpus * DOLLARS["H100"] / 1e6
    print(f"{gpus:4} H100: recompute {one.layout.recompute}, {millions:.2f} million dollars")

# %% [markdown]
# The rent includes electricity. How much of it is that?

# %%
spent = bill(cost["H100", 512] / DOLLARS["H100"], dollars=DOLLARS["H100"])
print(f"{spent.kwh:,.0f} kWh, for {spent.euros:,.0f} euros; {spent.co2:,.0f} t CO2")
print(spent.convention)

# %% [markdown]
# That's about a twentieth of the price, if a euro is a dollar. It counts the GPUs alone; with its
# share of a DGX H100, each draws up to 1,275 W, so electricity is a tenth at most. Most of what you
# rent is the machine itself, so an idle GPU costs nearly as much as a busy one. (The batch stays at
# 512 sequences here. On thousands of GPUs you'd enlarge it, up to the critical batch size of lesson
# 03.)
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - Tensor parallelism stays inside the NVLink domain, and may well be narrower.
# - A pipeline needs many micro-batches. With a fixed batch, replicas take them away.
# - Recomputation buys memory with time; ZeRO 1 divides the optimizer states over the replicas.
# - The price of a training run is its GPU hours. A few GPUs cost about the same as many, while both
#   can keep their activations; and they take much longer.
# - Compute first, then rent. Products, messages inside the layers, memory traffic between them and
#   the bubble make up nearly all of a step, and you can add them up by hand. Trust a model only as
#   far as it has been tested on held-out measurements: this one predicts 19 of 34 such runs on
#   H100s and H800s to within 15 %.
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
# which counts the FLOPs behind the TFLOP/s in its log. Which terms of lesson 09 do you find in it?
#
# ## Where next
#
# All of this assumed that the machines work and that somebody has started the ranks. [Lesson
# 21](21_beyond_one_machine.ipynb) leaves the single machine, where neither can be taken for
# granted.
