# %% [markdown]
# # Design your own: a model, a cluster, a layout
#
# **Needs:** two cores, no network. **Takes:** half a minute.
#
# You can cut a training step in many ways: replicas, stages, parts of layers, micro-batches,
# chunks, recomputation. 512 GPUs and one model give thousands of layouts. Some take twice as long
# as others, and most do not fit. You cannot try them all on a cluster that others wait for. But you
# can compute them.
#
# **Question.** GPT-3 has 175 billion parameters. How would you spread its training over 512 GPUs?

# %%
# needs: TP/choose_layout.py, primer/intro.py
import sys
import time
from dataclasses import replace

import torch

from helpers.cluster import Layout, bars, estimate, memory_group, preset, time_group
from helpers.cost import ModelConfig, gpt
from helpers.draw import curves
from helpers.draw.text import time_text
from helpers.grade import check
from helpers.lesson import answer, predict, show

# %% [markdown]
# ## One layout
#
# A **layout** is a handful of numbers: `dp` replicas, each cut into `pp` stages, each layer cut
# into `tp` parts. `dp x pp x tp` is the number of devices.

# %%
gpt3, a100 = gpt(hidden=12288, layers=96, heads=96), preset("A100")
first = Layout(batch=512, dp=8, pp=8, tp=8, recompute="full")
done = estimate(gpt3, first, a100, gpus=512)
print(done)
title = "A third of the time is no matrix product"
show(bars([memory_group({"memory": done}), time_group({"time": done})], title))

# %% [markdown]
# Where do these numbers come from? Each layer is a list of matrix products, of kernels that read
# and write memory, and of collectives. The machine has a speed for each of them: operations a
# second, bytes a second, and two networks, a fast one inside a node of eight GPUs and a slower one
# between nodes. A small product does not reach the full speed, and each message has a latency. The
# pieces then go on the clock that you know from lesson 06:

# %%
show(estimate(gpt3, replace(first, batch=64), a100).simulated.trace)

# %% [markdown]
# ## Can you trust it?
#
# The constants were set on 140 measured steps. Here are eight other measurements, which have set
# nothing ([arXiv 2205.05198](https://arxiv.org/abs/2205.05198), table 5, on A100s):

# %%
from helpers.cluster.validate import judged_recomputation

judged, factor = judged_recomputation()
for one in judged:
    measured, name = one.row.seconds, one.row.name
    print(f"{name:<16} {measured:6.2f} s, predicted {one.predicted:6.2f} s ({one.error:+.1%})")
print(f"one factor for the software of this paper: {factor:.3f}")

# %% [markdown]
# A few percent. One factor is for the software of that time. It was set on other measurements,
# those of single layers. `docs/cluster_model.md` has all rows, and says where the model is weak:
# short steps of small models.
#
# ## Meet the limits
#
# Every number of the layout has a limit of its own. Change one at a time, and look at what grows.

# %%
predict(
    "Tensor parallelism over 16 GPUs in place of 8, on nodes of 8 GPUs. What happens to the time "
    "of a step?",
    "shorter: each device has half of the work of a layer",
    "about a third longer",
    "four times as long",
)

# %%
wide = {f"tp {tp}": Layout(512, dp=64 // tp, pp=8, tp=tp) for tp in (4, 8, 16)}
limits = {name: estimate(gpt3, layout, a100) for name, layout in wide.items()}
show(bars([time_group(limits)], "Out of the node: the collectives take over"))

# %% [markdown]
# All three use the same 64 devices a pipeline stage. With 16, each collective must go through the
# network between the nodes, and collectives take three times as much of the time. So `tp` stays
# inside a node.

# %%
predict(
    "A pipeline of 8, 16 or 32 stages, and the rest of the 512 devices are replicas. Which has the "
    "smallest bubble?",
    "8 stages",
    "16 stages",
    "32 stages: each stage is short",
)

# %%
deep = {f"pp {pp}": Layout(512, dp=64 // pp, pp=pp, tp=8) for pp in (8, 16, 32)}
limits = {name: estimate(gpt3, layout, a100) for name, layout in deep.items()}
for name, one in limits.items():
    share = one.causes["bubble"] / one.seconds
    print(f"{name:>5}: {one.layout.micro_batches} micro-batches, bubble {share:.1%}")
show(bars([memory_group(limits)], "More stages: fewer weights on each device"))

# %% [markdown]
# With more stages there are fewer replicas, so each pipeline gets more micro-batches: the bubble
# stays the same. What changes is memory. (Batch and devices are fixed here; if the devices of a
# pipeline are fixed, a longer pipeline has a larger bubble.)
#
# ## Try it
#
# With a running kernel this cell shows sliders. Fit GPT-3 on as few GPUs as you can. Then make it
# fast. What stops you each time?

# %%
from helpers.cluster import design

sliders = design(model="GPT-3, 175B", dp=8, pp=8, tp=8, micro_batches=64, recompute="full")
show(sliders.picture(), live=lambda: sliders)

# %% [markdown]
# ## Let the machine search
#
# One layout is computed in a quarter of a millisecond. So try all of them, drop what does not fit,
# and order the rest by time.

# %%
from helpers.cluster import frontier, search

begun = time.perf_counter()
found = search(gpt3, a100, gpus=512, batch=512)
took = time.perf_counter() - begun
print(f"{len(found)} layouts fit; found in {'less than ten' if took < 10 else 'over ten'} seconds")
for one in found[:5]:
    print(one)
print(f"\nthe first guess takes {done.seconds / found[0].seconds:.2f} times as long as the best")

# %% [markdown]
# What would you pay for less memory? The **frontier** holds the layouts that no other one beats in
# both time and memory.

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
show(
    bars(
        [memory_group(chosen), time_group(chosen)],
        "Less memory is bought with time: messages, the bubble, recomputation",
    )
)

# %% [markdown]
# ## Your own machine
#
# `measure()` times a large and a small matrix product, copying, and the start of a kernel, and
# makes a machine of it. Let us foretell a step of the small LLaMA of lesson 01, and then do it.

# %%
sys.path[:0] = ["../primer"]
import intro

from helpers.cluster import measure

torch.set_num_threads(1)  # in this lab, one device is one core
options = intro.read_flags(["--steps", "12"])
net = intro.make_model(options, intro.make_tokenizer(options))
c, heads = net.config, net.config.num_heads
sizes = c.dmodel, c.n_layers, heads, heads, c.dmodel // heads, c.hidden_dim, c.vocab_size
small = ModelConfig("llama", *sizes, positions=c.ctx_size)
here = measure()
layout = Layout(options.batch_size, options.seq_l, micro_batch=options.batch_size, recompute="none")
plan = estimate(small, layout, here)

# %%
_, _, trace = intro.train(options)
kinds = ("F", "B", "update")
real = sum(min(e.duration for e in trace.events if e.kind == kind) for kind in kinds)
print(f"predicted {time_text(plan.seconds)}, measured {time_text(real)} (the fastest of 12 steps)")
print({why: time_text(t) for why, t in plan.causes.items() if t > plan.seconds / 20})

# %% [markdown]
# On a CPU the model is rough, and on a busy machine rougher: do not expect better than a factor of
# two. A step here is many tiny kernels, and the model was made for large ones.
#
# ## What to remember
#
# - Tensor parallelism stays inside a node.
# - A pipeline needs many micro-batches. With a fixed batch, replicas take them away.
# - Recomputation buys memory with time; ZeRO 1 gives memory for almost nothing.
# - Compute first, then rent. A model of a few constants foretells a step on hundreds of GPUs within
#   a few percent, if it was held against measurements.
# - No row that sets a constant can judge it.
#
# ## Exercises
#
# **1. Task CO-3: a layout that fits and is fast.**

# %%
check("CO-3")

# %% [markdown]
# **2.** Llama 3 8B on 8 H100s, a batch of 64 sequences of 8,192 tokens. What is the largest
# micro-batch that fits with `dp=8`, ZeRO 1 and full recomputation? (A power of two.)

# %%
mine = None
llama = ModelConfig("llama", 4096, 32, 32, 8, 128, 14336, 128256, 8192)


def fits(micro):
    layout = Layout(64, 8192, dp=8, micro_batch=micro, recompute="full", zero=1)
    return estimate(llama, layout, preset("H100")).fits


answer(mine, lambda: max(micro for micro in (1, 2, 4, 8) if fits(micro)))

# %% [markdown]
# **3.** GPT-3 on 64 A100s: `pp=8, tp=8`, a batch of 64, full recomputation. How many seconds
# shorter is a step with 3 chunks on each device (interleaved 1F1B) than with 1? (To 0.1 s.)

# %%
mine = None


def seconds(chunks):
    return estimate(gpt3, Layout(64, pp=8, tp=8, chunks=chunks), a100).seconds


answer(mine, lambda: seconds(1) - seconds(3), tolerance=0.1)
