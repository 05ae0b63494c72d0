# %% [markdown]
# # Training puzzles: a cluster that you can program
#
# *Reading 40 minutes, tasks 550 (homework 435)*
#
# *With twenty minutes: read as far as puzzle 2, and begin with PZ-1.*
#
# Until now every script ran on ranks that your laptop could start, so you never had to decide which
# of 32 GPUs keeps what. But you don't need the GPUs to decide that. A program can say it all: who
# loads which weights, who computes which samples, who sends what to whom, and when a tensor may be
# thrown away. In this lesson you write that program, and a simulated cluster runs it: nothing is
# computed, but everything is counted.
#
# **Question.** How do you spread one training step over many ranks so that it's fast and needs
# little memory?
#
# With the reading, the six puzzles of this session take about two and a half hours. Five more are
# homework.

# %%
import sys

sys.path[:0] = ["../puzzles"]
import eight
import part1
import part3
import part4
import part5
from cluster import PuzzleError, outcome, run, trace_of

from helpers.check import check, solve
from helpers.draw import curves, lanes
from helpers.lesson import claim, predict, reveal, show

# %% [markdown]
# ## A step without numbers
#
# You write one function, and the cluster runs it once on every rank. Its argument `model` is all
# that a rank sees: its number, the layers, and everything it can do. The values are **symbolic**:
# a weight knows its layer, an activation its layer and its samples, and neither holds a number. For
# example, here's a whole step on one rank, with one layer and two samples:


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


models = run(tour, 1, 1, 2, profile="bytes")  # 1 rank, 1 layer, 2 samples

# %% jupyter={"source_hidden": true}
for event in models[0].log:
    print(f"{1e6 * event.time:6.0f} µs {event.typ:12} {event.memory / 1e6:4.0f} MB, its result too")

# %% [markdown]
# Most calls take time on the rank's clock (the loss is free), and by these rules each value takes
# memory as long as Python holds it. (A real run loads its weights from the host once, not in every
# step; in the eight puzzles and the boss, loading is free.)
#
# ## Why can't you cheat?
#
# A simulator that only adds up times is easily fooled: build a gradient by hand, skip the backward,
# and report a record. This one knows where each value comes from, and refuses a gradient that no
# rank has computed. So the step is right; its seconds are what a profile charges (more below).

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
# Each sample must count exactly once in the gradient of each layer, and every rank that holds a
# layer must end with its new weight. If ranks deadlock, you get the same report as in lesson 02.
#
# ## The puzzles
#
# The puzzles are Sasha Rush's [LLM Training
# Puzzles](https://github.com/srush/LLM-Training-Puzzles), and they count in **steps** instead of
# seconds: a forward or a backward of one sample through one layer takes 1 step, an update 0.5, a
# collective 0.3, and a message 0.2 at each of its two ends. Keep what a rank holds in the five
# dictionaries of `model.storage()`, because that's where its memory is counted, in elements: the
# weight, the gradient and the state of a layer have $512^2 = 262{,}144$ each, and an activation or
# its gradient $512 \cdot 256 = 131{,}072$ a sample.
#
# You reach a puzzle's target in time by putting the right work on the right rank, and its target in
# memory by throwing things away at the right moment. The targets are what the published solutions
# need, to the last digit (the notebook that published them rounds them, and counts its puzzles from
# 0). From puzzle 3 on, their memory can be beaten: a step that needs less gets a star.
#
# This cell draws your step. In the boxes, "F0 L2" is the forward of sample 0 through layer 2; under
# each rank you see the memory that it holds.


# %%
def play(name):
    ranks, layers, samples, steps, memory = eight.CASES[name]
    models = run(getattr(eight, name), ranks, layers, samples, profile="steps")
    found = outcome(models)
    print(f"{found.time:g} steps (target {steps:g})")
    star = " ★" if found.memory < memory else ""
    print(f"{found.memory:,.0f} elements on the fullest rank (target {memory:,}){star}")
    show(lanes(trace_of(models, ranks=range(min(ranks, 4)))))


# %% [markdown]
# ### Your turn: PZ-1 · 15 minutes · 10 points
#
# One rank has the whole batch. Write `basic()` in `puzzles/eight.py`: forward, loss, backward,
# update. This puzzle is about how long things live: an activation is needed until its backward
# has run, and not a moment longer. Target: 17 steps and 2.6 million elements, for 2 layers and 4
# samples.

# %%
check("PZ-1")

# %% jupyter={"source_hidden": true}
play("basic")

# %% [markdown]
# ### Your turn: PZ-2 · 15 minutes · 10 points
#
# Write `accumulation()` in `puzzles/eight.py`. Gradients add up, so a rank can take one sample at a
# time and keep only the sum. Target: 17 steps and 2.0 million elements.

# %%
check("PZ-2")

# %% jupyter={"source_hidden": true}
play("accumulation")

# %%
logs = {name: run(getattr(eight, name), 1, 2, 4, profile="steps")[0].log
        for name in ("basic", "accumulation")}  # fmt: skip
held = {name: {at: e.memory / 1e6 for e in log if e.duration
               for at in (e.time, e.time + e.duration - 1e-6)}
        for name, log in logs.items()}  # fmt: skip
title = "The same 17 steps, and a peak of 1.97 instead of 2.62 million elements"
show(curves(held, title, x="steps", y="million elements held"))

# %% [markdown]
# Now a rank holds one sample's activations at a time instead of four.
#
# ## Many ranks, each with everything
#
# With data parallelism each rank takes its own samples, and `await model.all_reduce(gradient,
# layer)` returns the sum of the gradients over all ranks. Four ranks can share the 17 steps of
# puzzle 1. A quarter of that would be 4.25 steps, but the target is 5.6: some of
# the work isn't shared, and sending costs something.
#
# ### Your turn: PZ-3 · 20 minutes · 10 points
#
# Write `ddp()` in `puzzles/eight.py`, for 4 ranks with one sample each. Target: 5.6 steps and 1.8
# million elements.

# %%
check("PZ-3")

# %% jupyter={"source_hidden": true}
play("ddp")

# %% [markdown]
# With $L$ layers and $b$ samples on each rank, a step takes
#
# $$T = \underbrace{2Lb}_{\text{shared}} + \underbrace{0.3\,L}_{\text{collectives}} +
# \underbrace{0.5\,L}_{\text{updates}},$$
#
# and only the first term shrinks if you add ranks to share the same batch. Every replica repeats
# all updates. (The rules of the puzzles charge 0.5 steps for the update of a shard, too; on a real
# device a quarter of the numbers would take a quarter of the time.)
#
# Three layers with one sample on each rank take 6 + 0.9 + 1.5 = 8.4 steps, however many ranks there
# are.
#
# — *With ninety minutes, stop here.* —
#
# ## Many ranks, each with a shard
#
# Cut a tensor into as many parts as there are ranks, and each part is a **shard**. In puzzle 4
# each rank keeps one shard of every weight and of its optimizer state, and `await
# model.all_gather(shard, layer)` puts a layer together when it's needed.
#
# ### Your turn: PZ-4 · 25 minutes · 15 points
#
# Write `weight_sharded()` in `puzzles/eight.py`. Target: 20.4 steps and 2.8 million elements, with
# 6 layers.

# %%
check("PZ-4")

# %% jupyter={"source_hidden": true}
play("weight_sharded")

# %% [markdown]
# A rank that updates one shard needs only one shard of the gradient. `await
# model.reduce_scatter(gradient, layer)` sums over the ranks and returns to each rank its own shard.
# That's the last piece of **ZeRO stage 3**, which PyTorch implements as FSDP.
#
# ### Your turn: PZ-5 · 15 minutes · 10 points
#
# Write `fully_sharded()` in `puzzles/eight.py`. Target: 20.4 steps and 2.3 million elements.

# %%
check("PZ-5")

# %% jupyter={"source_hidden": true}
play("fully_sharded")

# %% [markdown]
# Between two steps a rank now keeps a quarter of everything, as in lesson 13. During a step it also
# holds one whole layer at a time, in backward with its whole gradient, and its own activations.
#
# ## Many ranks, each with some layers
#
# Instead of gathering weights where the samples are, a pipeline sends the activations to where the
# weights are. `await model.send(rank, value)` and `await model.receive(rank)` are all it needs.
# With 8 layers and 4 samples, one rank alone would take $8 \cdot 4 \cdot 2 + 8 \cdot 0.5 = 68$
# steps.

# %% jupyter={"source_hidden": true}
predict(
    "training_puzzles-3",
    "Four ranks hold two layers each, and the whole batch goes from rank to rank and back. How "
    "many steps does that take?",
    "near 17, a quarter of 68",
    "near 34, a half",
    "near 67, hardly fewer than one rank needs",
)

# %% [markdown]
# ### Your turn: PZ-6 · 25 minutes · 15 points
#
# Write `pipeline()` in `puzzles/eight.py`: the naive pipeline of lesson 05, with the whole batch in
# one piece. Memory target: 3.1 million elements. The target in steps is printed above your
# picture.

# %%
check("PZ-6")

# %% jupyter={"source_hidden": true}
play("pipeline")
reveal("training_puzzles-3")

# %% [markdown]
# The naive pipeline divides the memory, but not the time. PZ-7 below halves the time with
# micro-batches, as in lesson 06: each sample is sent on as soon as it's ready.
#
# ## What does it really cost?
#
# Steps are simple, but there's no GPU in them. A **profile** says what things cost: `steps` counted
# until now, `classic` has the rules of the CS 8803 SMR lab, `bytes` counts FLOPs and bytes, and
# `measured` judges the boss ([what each of the four counts](../puzzles/README.md#four-profiles)).
#
# Here `ddp` and `fully_sharded` run under two of them. How much longer does ZeRO-3 communicate?

# %%
OPS = ("all_reduce", "all_gather", "reduce_scatter")


def communication(step, profile, *case):
    log = run(step, *case, profile=profile)[0].log
    return sum(event.duration for event in log if event.typ in OPS)


# %%
for profile, ratio in (("classic", 3), ("bytes", 1.5)):
    plain, zero = (communication(step, profile, 32, 64, 32)
                   for step in (eight.ddp, eight.fully_sharded))  # fmt: skip
    claim(f"ZeRO-3's collectives over DDP's, by {profile}", zero / plain, ratio, within=0.02,
          how="simulated")  # fmt: skip

# %% [markdown]
# `classic` counts three collectives for one, `bytes` the 1.5 of lesson 13. So what wins by simple
# rules may be a bad plan for a real machine. (No network was measured here: a profile sets prices.)
#
# ## Homework
#
# Here are five more, seven hours in all. Good places to stop are PZ-8, which ends the LLM Training
# Puzzles, and PZ-P4, a smaller boss.
#
# ### Your turn: PZ-7 · 30 minutes · 15 points
#
# Write `gpipe()` in `puzzles/eight.py`: send each sample on as soon as it's ready. Target: 33.8
# steps and 4.2 million elements. (This memory target is generous. How far below it can you get?)

# %%
check("PZ-7")

# %% jupyter={"source_hidden": true}
play("gpipe")

# %% [markdown]
# ### Your turn: PZ-8 · 45 minutes · 25 points
#
# Write `pipeline_sharded()` in `puzzles/eight.py`: sixteen ranks, four pipelines of four stages,
# and each layer sharded over all sixteen. What's new is that a collective needs all of its ranks,
# even those that have nothing to add. Target: 16 steps and 0.97 million elements. The picture
# shows the first pipeline of the four.

# %%
check("PZ-8")

# %% jupyter={"source_hidden": true}
play("pipeline_sharded")

# %% [markdown]
# Four pipelines of four stages, and yet sixteen ranks are only about twice as fast as one. Of the
# 16 steps only 8 compute, because each pipeline has a single sample; 3.6 are collectives that all
# sixteen must join, 2.4 messages, and 2 updates. Sharing a layer only among the ranks that compute
# it avoids most of these collectives, and you'll need that for the boss.
#
# ## The strategies, one by one, at any size
#
# The parts of the CS 8803 SMR lab ask for the same strategies in seconds, and for any number of
# ranks, layers and samples. Each is also a script: `cd puzzles`, then `python part3.py --ranks 8
# --micro-batch 64 --profile classic`. It prints time, memory and MFU, and writes a trace to
# `debug_traces/` that opens in [Perfetto](https://ui.perfetto.dev). The first three, data
# parallelism, ZeRO and the naive pipeline, repeat what you've written above: they stand in the
# [README of the puzzles](../puzzles/README.md#part-by-part). What's new comes with the fourth.
#
# GPipe (PZ-7) fixes the time: all forwards, then all backwards. But each rank then holds the
# activations of all $m$ micro-batches, so the large $m$ that shrinks the bubble also fills the
# card. 1F1B alternates after a warm-up, so no rank holds the activations of more than $p$
# micro-batches ($p$ stages), however large $m$ is. That's what makes a small bubble affordable. The
# time is GPipe's, by lesson 06 about
#
# $$T = (m + p - 1)(t_F + t_B) + \text{update}.$$
#
# ### Your turn: PZ-P3 · 60 minutes · 30 points
#
# Write `part3_training_loop()` in `puzzles/part3.py`: 1F1B, the schedule of lesson 06.

# %%
check("PZ-P3")

# %% [markdown]
# Four ranks with two layers each: a sample needs 2 steps forward and 2 backward in a stage, and a
# stage in the middle has four ends of messages for it (the first and the last have two), so
# $t_F + t_B = 4 + 4 \cdot 0.2$ at most. The update takes 1.

# %%
held = {}
for m in (4, 8, 16, 32):
    found = outcome(run(part3.part3_training_loop, 4, 8, m, 1, profile="steps"))
    held[m] = found.memory / 1e6
    claim(f"1F1B's steps for {m} samples", found.time, (m + 3) * 4.8 + 1, 0.05, how="simulated")
expected = (6 * 512**2 + 9 * 512 * 256) / 1e6  # states of two layers, 4 samples in each, a gradient
claim("1F1B: million elements with 32 samples", held[32], expected, 0.01, how="simulated")

# %%
gpipe = {m: outcome(run(eight.gpipe, 4, 8, m, profile="steps")).memory / 1e6 for m in held}
title = "GPipe holds the whole batch, 1F1B four samples"
show(curves({"GPipe": gpipe, "1F1B": held}, title, x="samples", y="million elements"))

# %% [markdown]
# With 32 samples GPipe holds five times as much for the same time. And now the others on
# one case, four ranks, eight layers, four samples, each beside what you can compute by hand:

# %%
by_hand = {"ddp": 16 + 2.4 + 4, "fully_sharded": 16 + 7.2 + 4, "pipeline": 64 + 2.4 + 1}
for name, steps in (by_hand | {"gpipe": (4 + 3) * 4.8 + 1}).items():
    found = outcome(run(getattr(eight, name), 4, 8, 4, profile="steps"))
    claim(f"{name}, {found.memory / 1e6:.1f} million elements: steps", found.time, steps, 0.05,
          how="simulated")  # fmt: skip

# %% [markdown]
# Data parallelism is fastest and needs the most memory. ZeRO-3 pays for its memory in collectives,
# a pipeline in a bubble that a larger batch would shrink. Which costs more depends on the network.
#
# ## A smaller boss: choose your own strategy
#
# 32 ranks, and you choose the strategy.
#
# ### Your turn: PZ-P4 · 120 minutes · 60 points
#
# Part 4 asks for the highest **MFU**, model FLOPs utilization: the time that the step would take
# if every rank computed at its peak rate all the time, each forward once, divided by the time that
# it takes. Write `part4_training_loop()` in `puzzles/part4.py`, with any strategy you like: 80 %
# MFU with at most 60 billion elements on 32 ranks, by the `classic` rules. `model.group(ranks)`
# returns an object whose collectives take only these ranks.
#
# In the profile `bytes`, a collective that you don't await yet runs beside the computing:
#
# ```python
# started = model.all_gather(shard, layer)      # it begins
# ...                                           # compute something else meanwhile
# whole = await started                         # wait for whatever is left of it
# ```

# %%
check("PZ-P4")

# %%
found = {}
for profile in ("classic", "bytes"):
    models = run(part4.part4_training_loop, 32, 16, 2048, 64, profile=profile)
    found[profile] = outcome(models)
    print(f"{profile:8} MFU {found[profile].mfu:.1%}, score {found[profile].points[0]:g} of 5")
models = run(part4.part4_training_loop, 16, 3, 512, 32, profile="bytes")
show(lanes(trace_of(models, ranks=[0, 15])))

# %% [markdown]
# Look at the two lanes of a rank: a collective under a forward or a backward adds nothing to the
# step. (On a real GPU it does: NCCL's kernels compete with them for SMs and memory bandwidth.)
#
# And don't take this MFU at face value. `bytes` has one matrix product a layer, at 95 % of the peak
# rate: no attention, no normalization, none of the small kernels of a real optimizer. (In `classic`
# a plan can also win by loading whole layers from the host, which a real run can't in every step.)
# The real boss, below, uses the rules of lesson 20's model, in which computing reaches 77 % of the
# peak.
#
# ## The boss
#
# 60 layers of GPT-3's width are 109 billion parameters. You have 48 A100s with 80 GB each, in six
# nodes of eight. Inside a node a card sends 247 GB/s; between nodes the eight cards share 400
# Gbit/s, of which programs reach 73 %. The batch is 192 sequences of 2,048 tokens. The profile
# `measured` charges what lesson 20's cluster model says, whose constants were fitted to measured
# training steps. (It can't split a layer's products, so there's no tensor parallelism.) An
# activation here stands for everything that its layer keeps for backward, the $34\,sbh$ bytes of
# lesson 09, even where you keep it only to recompute from it. A real checkpoint is just the layer's
# input, $2\,sbh$, so recomputation saves less memory here than it really would.
#
# Weights, gradients and states take 16 bytes a parameter:

# %%
parameters, layer_gb = 60 * 12 * 12288**2, 34 * 2048 * 12288 / 1e9
print(f"states: {16 * parameters / 1e12:.2f} TB in all, {16 * parameters / 48e9:.0f} GB a card")
print(f"activations of one sequence: {layer_gb:.2f} GB a layer, {60 * layer_gb:.0f} GB in all")

# %% jupyter={"source_hidden": true}
predict(
    "training_puzzles-4",
    "ZeRO-3 over all 48 cards, one sequence at a time: a 48th of the states, and all 60 layers' "
    "activations of the card's own sequence. 1F1B over 48 stages: at most two layers on a card. "
    "Which of them fits into 80 GB?",
    "both",
    "only ZeRO-3",
    "only the pipeline",
    "neither",
)

# %%
plain = {"1F1B": part3.part3_training_loop}
plain["ZeRO-3"] = part1.part1_training_loop  # PZ-P1, or solve("PZ-P1")
for name, step in plain.items():
    try:
        print(f"{name}: {outcome(run(step, 48, 60, 192, 1, profile='measured'))}")
    except PuzzleError as error:
        print(f"{name}: {error}")
reveal("training_puzzles-4")

# %% [markdown]
# So you have to combine what you know. You may also recompute, as in lesson 09: `forward` can be
# called again for the same samples.
#
# ### Your turn: PZ-P5 · 180 minutes · 90 points
#
# First compute how many bytes of one sequence cross the slow network: once for a plan in which the
# weights travel, once for one in which the activations do. Then write `part5_training_loop()` in
# `puzzles/part5.py`. An MFU of 35 % passes, and the score is the MFU itself. Where does yours land
# among four of ours ([puzzles/README.md](../puzzles/README.md) has more)?

# %%
KNOWN = {  # GB on the fullest card, and MFU in percent
    "ZeRO-3 over all cards, one sequence": {63.8: 19.3},
    "ZeRO-3, two sequences": {76.7: 38.3},
    "nodes as stages, all recomputed": {65.0: 51.0},
    "nodes, what fits is kept": {74.5: 55.4},
}

# %%
check("PZ-P5")


# %%
def computing(models):
    work = [e for model in models for e in model.log if e.typ in ("forward", "backward")]
    once = {(e.typ, e.rank, e.layer, e.samples): e.duration for e in work}
    first, all_of_it = sum(once.values()), sum(e.duration for e in work)
    return first / len(models), (all_of_it - first) / len(models)


# %%
found = dict(KNOWN)
try:
    models = run(part5.part5_training_loop, 48, 60, 192, 1, profile="measured")
    yours = outcome(models)
    found["yours"] = {yours.memory / 1e9: 100 * yours.mfu}
    print(f"yours: MFU {yours.mfu:.1%}, {yours.memory / 1e9:.0f} GB on the fullest card")
    once, again = computing(models)
    print(f"{yours.time:.1f} s: a card computes for {once:.1f} s, and {again:.1f} s more to "
          "recompute")  # fmt: skip
except PuzzleError as error:
    print(f"yours isn't in the picture yet: {error}")

# %% jupyter={"source_hidden": true}
title = "At about the same memory: 2.6 times the MFU below 66 GB, 1.4 times above 74"
show(curves(found, title, x="GB on the fullest card", y="MFU, percent"))

# %% [markdown]
# ZeRO-3 over all cards sends every layer through the slow network, for each of a card's turns. One
# pass through all layers is 217 GB, of which a ring of 48 ranks sends 47/48 out of each node: 213
# GB, or 5.8 s at 36.5 GB/s. A sequence needs 3.9 such passes: forward, 54 layers again (every tenth
# activation is kept), backward, and gradients back. A card takes four sequences in turn, so its 91
# seconds are $4 \cdot 3.9$ passes and nothing else, and two sequences at once halve them. If the
# stages of a pipeline are nodes, ZeRO-3 inside a node uses the fast network, and only activations
# and their gradients cross the slow one: ten messages of 0.05 GB a sequence. A node between two
# others sends 19 GB a step, against 3.3 TB with ZeRO-3 over all cards.

# %%
best = 31.8 * 0.554  # seconds at the peak rate
volume = 47 / 48 * 217.4 * (60 + 54 + 60 + 60) / 60  # GB for a sequence: 4 trips of up to 60 layers
(percent,) = KNOWN["ZeRO-3 over all cards, one sequence"].values()
by_network = best / (4 * volume / 36.5)
claim(
    "ZeRO-3 over all cards is as slow as its network: MFU",
    percent / 100,
    by_network,
    within=0.02,
    how="simulated",
)

# %% [markdown]
# Where do the 31.8 seconds of our fourth plan go? A card computes for 22.7 s if nothing is repeated
# (17.6 s at its peak rate), and the average card repeats another 2.1 s. Of the 7.0 s without
# computing, six stages must lose $5 \cdot (0.32 + 0.63) \approx 4.75$ s as the bubble of lesson 06:
# a micro-batch takes 0.32 s forward and 0.63 s backward through a stage. What's left is messages,
# updates, and waiting for the early stages, which have the least room and so repeat the most. With
# fewer layers on these, the MFU rises to 57.2 %.
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - Keep an activation until its backward, and no longer.
# - Data parallelism needs one all-reduce a layer, ZeRO-3 three collectives of half its bytes for
#   each micro-batch: $1.5\,m$ times the bytes for $m$ of them.
# - A pipeline sends activations instead of weights. It divides weights and states at once, but the
#   time only with micro-batches.
# - Where no single strategy fits, combine them along the network: shards inside a node, stages
#   between nodes, and recomputation where memory is short.
#
# ## In the wild
#
# - Llama 3 405B ran on 16,384 H100s with TP 8, PP 16 and DP 128, and reached 400 TFLOP/s a GPU, an
#   MFU of 41 % ([2407.21783](https://arxiv.org/abs/2407.21783), table 4). Compare that with what
#   `bytes` promises you.
#
# Go and read `FSDPParamGroup` in PyTorch's
# `torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py`. `unshard` is your all-gather,
# `reshard` your `del`, and `post_backward` your reduce-scatter.
#
# ## Where next
#
# [Lesson 20](20_design_your_own.ipynb) lets a program try thousands of ways.
