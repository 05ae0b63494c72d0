# %% [markdown]
# # Training puzzles: a cluster that you can program
#
# **Needs:** two cores, no network. **Takes:** one minute, and as long as the puzzles take you.
#
# You have no cluster with 32 GPUs. But you can write the program that would run on it. In this
# lesson the cluster is simulated: nothing is computed, and everything is counted.
#
# **Question.** How do you spread one training step over many ranks, so that it is fast and needs
# little memory?

# %%
# needs: puzzles/*.py, puzzles/cluster/*.py, puzzles/machines/*.json
import sys

sys.path[:0] = ["../puzzles"]
import eight
import part0
import part1
import part4
from cluster import PuzzleError, outcome, run, trace_of

from helpers.grade import check
from helpers.lesson import answer, predict, show

# %% [markdown]
# ## A step without numbers
#
# You write one function. The cluster runs it once on every rank. `model` is what a rank sees: its
# number, the layers, and what it can do. The values are **symbolic**: a weight knows its layer, an
# activation knows its layer and its samples, and no more.


# %%
async def tour(model):
    weight, state = model.load_weights(0)
    x = model.get_input_activation([0, 1])  # samples 0 and 1 of the batch
    y = model.forward(0, x, weight)
    error = model.loss(y)
    gradient, _ = model.backward(0, x, error, weight)
    print(gradient)
    weight, state = model.update(0, gradient, weight, state)
    model.set_final_weight(0, weight)
    return model


models = run(tour, 1, 1, 2, profile="honest")  # 1 rank, 1 layer, 2 samples
for event in models[0].log:
    print(f"{1e6 * event.time:6.0f} µs {event.typ:12} {event.memory / 1e6:6.0f} MB held")

# %% [markdown]
# Each call takes time on the rank's clock. Each value takes memory, as long as Python holds it.
#
# ## Nobody can cheat
#
# Each value also knows where it comes from. So a gradient that nobody has computed is worth
# nothing:

# %%
from lib import WeightGrad


async def forge(model):
    weight, state = model.load_weights(0)
    gradient = WeightGrad(0, model.num_layers, range(2), 2)
    model.update(0, gradient, weight, state)


try:
    run(forge, 1, 1, 2)
except PuzzleError as error:
    print(error)

# %% [markdown]
# Each sample must count exactly once in the gradient of each layer. Every rank that holds a layer
# must end with the new weight. And ranks that wait in vain are told at once, as in lesson 02:


# %%
async def both_receive(model):
    x = await model.receive(1 - model.rank)
    await model.send(1 - model.rank, x)


try:
    run(both_receive, 2, 1, 2)
except PuzzleError as error:
    print(error)

# %% [markdown]
# ## Eight puzzles
#
# The puzzles are those of Sasha Rush, [LLM Training
# Puzzles](https://github.com/srush/LLM-Training-Puzzles). They count in steps: a forward or a
# backward of one sample takes 1 step, an update 0.5, a collective 0.3, and a message 0.2 at each of
# its two ends. Keep what a rank holds in the five dictionaries of `model.storage()`: there its
# memory is counted.
#
# Write them in `puzzles/eight.py`, and check them at the end of this lesson. Under each idea you
# see the step that is asked for. One second of the picture is one step.


# %%
def play(name):
    ranks, layers, samples, steps, memory = eight.CASES[name]
    try:
        models = run(getattr(eight, name), ranks, layers, samples, profile="steps")
    except NotImplementedError as todo:
        return print(todo)
    found = outcome(models)
    print(f"{found.time:g} steps, the target is {steps:g}")
    print(f"{found.memory:,.0f} elements on one rank, the target is {memory:,}")
    show(trace_of(models))


# %% [markdown]
# ### 1. One rank
#
# Forward, loss, backward, update. New idea: an activation must be kept until its backward, and not
# longer. Target: 17 steps, 2.6 million elements, for 2 layers and 4 samples.

# %%
play("basic")

# %% [markdown]
# ### 2. Accumulation
#
# New idea: gradients add up. Take one sample at a time, and keep the sum. Target: 17 steps, 2.0
# million elements.

# %%
play("accumulation")

# %% [markdown]
# The same time, less memory: the activations of one sample are there at a time, not those of four.
#
# ### 3. Data parallel
#
# New idea: `await model.all_reduce(gradient, layer)` gives every rank the sum over all ranks.
# Target: 5.6 steps, 1.8 million elements, on 4 ranks with one sample each.

# %%
predict(
    "Four ranks share the work of 17 steps. Why are 5.6 steps needed, and not 17 / 4 = 4.25?",
    "the ranks wait for each other",
    "each rank updates all weights, and each layer is reduced",
    "one rank has more samples than the others",
)

# %%
play("ddp")

# %% [markdown]
# 4 steps of forward and backward, 2 times 0.3 for the collectives, 2 times 0.5 for the updates: the
# updates are not shared at all.
#
# ### 4. Sharded weights
#
# A **shard** is a part of something that is cut over the ranks. New idea: keep one shard of each
# weight, and put a layer together with `await model.all_gather(shard, layer)` when it is needed.
# Target: 20.4 steps, 2.8 million elements, with 6 layers.

# %%
play("weight_sharded")

# %% [markdown]
# ### 5. Sharded gradients
#
# New idea: a rank that updates one shard needs one shard of the gradient. `await
# model.reduce_scatter(gradient, layer)` sums over the ranks and gives each its shard. Target: 20.4
# steps, 2.3 million elements. This is called **FSDP**, or ZeRO stage 3.

# %%
predict(
    "How much memory does each of 4 ranks need for the weights, states and gradients of a layer "
    "between two steps, compared with one rank that has everything?",
    "the same",
    "a half",
    "a quarter",
)

# %%
play("fully_sharded")

# %% [markdown]
# A quarter of everything that stays from step to step. The rest is one whole layer at a time, and
# the activations.
#
# ### 6. Pipeline
#
# New idea: cut the layers over the ranks, and send activations, not weights. `await
# model.send(rank, value)` and `await model.receive(rank)`. Target: 67.4 steps, 3.1 million
# elements, with 8 layers.

# %%
play("pipeline")

# %% [markdown]
# ### 7. GPipe
#
# New idea: send each sample on as soon as it is ready, as in lesson 06. Target: 33.8 steps, 4.2
# million elements.

# %%
play("gpipe")

# %% [markdown]
# ### 8. Both
#
# Sixteen ranks: four pipelines of four stages, and each layer sharded over all sixteen. New idea: a
# collective needs all its ranks, also those that have nothing to give. Target: 16 steps, 0.97
# million elements.

# %%
play("pipeline_sharded")

# %% [markdown]
# ## What does it really cost?
#
# Steps are simple, but no GPU counts in them. The **profile** says what things cost:
#
# - `steps`: the rules of the puzzles.
# - `classic`: the arithmetic of a course, the CS 8803 SMR lab: H100 GPUs, and simple rules. There a
#   shard costs as much to move as a whole layer, and memory is counted in elements.
# - `honest`: bytes, backward twice as long as forward, Adam's states as they are, NVLink inside a
#   node of 8 and a slower network between nodes, and two lanes: a rank can send while it computes.

# %%
predict(
    "ZeRO stage 3 moves each layer three times (two all_gathers, one reduce_scatter), and data "
    "parallel reduces it once. How much more time does ZeRO's communication take on real networks?",
    "3 times as much",
    "1.5 times as much",
    "as much",
)

# %%
OPS = ("all_reduce", "all_gather", "reduce_scatter")


def communication(step, profile):
    log = run(step, 32, 64, 256, 8, profile=profile)[0].log
    return sum(event.duration for event in log if event.typ in OPS)


try:
    for profile in ("classic", "honest"):
        plain = communication(part0.train_ddp, profile)
        zero = communication(part1.part1_training_loop, profile)
        print(f"{profile:8} data parallel {plain:.3f} s, ZeRO-3 {zero:.3f} s: {zero / plain:.2f} x")
except NotImplementedError as todo:
    print(todo)

# %% [markdown]
# An all-reduce is a reduce-scatter and an all-gather, so it moves twice as much as either. Three
# against two makes 1.5. This is the number in the ZeRO paper (arXiv 1910.02054).
#
# ## Overlap
#
# In `honest`, a collective that is not awaited goes on beside the computing:
#
# ```python
# started = model.reduce_scatter(gradient, layer)      # it begins
# ...                                                  # compute something else meanwhile
# gradient = await started                             # wait for what is left of it
# ```
#
#
# Part 4 of the lab asks for the highest **MFU**, model FLOPs utilisation: the time that the step
# would take if every rank computed at its peak all the time, divided by the time that it takes.

# %%
try:
    for profile in ("classic", "honest"):
        found = outcome(run(part4.part4_training_loop, 32, 16, 2048, 64, profile=profile))
        print(f"{profile:8} MFU {100 * found.mfu:.1f} %, score {found.points[0]:g} of 5")
    models = run(part4.part4_training_loop, 16, 3, 512, 32, profile="honest")
    show(trace_of(models, ranks=[0, 15]))
except NotImplementedError as todo:
    print(todo)

# %% [markdown]
# Look at the two lanes of a rank. The reduce-scatters lie under the backwards: they cost nothing.
# Only the first gather and the last reduce-scatter have nothing to hide behind.
#
# ## Your own cluster, your own step
#
# Each part is a script: `cd puzzles`, then `python part3.py --ranks 8 --micro-batch 64 --profile
# classic`. It prints time, memory and MFU, and writes a trace to `debug_traces/`, which opens in
# [Perfetto](https://ui.perfetto.dev). `model.group(ranks)` gives collectives of some of the ranks.
# A folder of submissions becomes a leaderboard: `python -m cluster.leaderboard FOLDER`.
#
# ## What to remember
#
# - Each sample must count once in each gradient; each copy of each weight must be updated.
# - Keep an activation until its backward, and no longer.
# - Data parallel: one all-reduce a layer. ZeRO-3: three smaller collectives, 1.5 times the bytes.
# - A pipeline sends activations and needs no collective. Small pieces fill it.
# - What is sent while something is computed costs no time.
#
# ## Exercises
#
# **1 to 8. Tasks PZ-1 to PZ-8: the eight puzzles.** Do them one after the other. Each check is on
# two clusters; the second has other sizes.

# %%
check("PZ-1")

# %%
check("PZ-2")

# %%
check("PZ-3")

# %%
check("PZ-4")

# %%
check("PZ-5")

# %%
check("PZ-6")

# %%
check("PZ-7")

# %%
check("PZ-8")

# %% [markdown]
# **9 to 13. Tasks PZ-P0 to PZ-P4: the five parts of the lab**, in `puzzles/part0.py` to
# `puzzles/part4.py`: data parallel with accumulation, ZeRO, the naive pipeline, 1F1B, and a
# strategy of your own.

# %%
check("PZ-P0")

# %%
check("PZ-P1")

# %%
check("PZ-P2")

# %%
check("PZ-P3")

# %%
check("PZ-P4")

# %% [markdown]
# **14.** Data parallel by the rules of the puzzles: 8 ranks, 3 layers, one sample on each rank. How
# many steps does it take? (It is your PZ-3 that runs.)

# %%
mine = None
answer(mine, lambda: outcome(run(eight.ddp, 8, 3, 8, profile="steps")).time, tolerance=1e-6)
