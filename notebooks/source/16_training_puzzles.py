# %% [markdown]
# # Training puzzles: a cluster that you can program
#
# *Reading 25 minutes · tasks 115 · machine 1*
#
# *With twenty minutes: read as far as puzzle 3 and solve PZ-1.*
#
# Until now every script ran on ranks that your laptop could start, so you never had 32 GPUs, and
# you never had to decide which of them keeps what. But you don't need the GPUs to decide that. A
# program can say it all: who loads which weights, who computes which samples, who sends what to
# whom, and when a tensor may be thrown away. In this lesson you write that program, and a
# simulated cluster runs it: nothing is computed, but everything is counted.
#
# **Question.** How do you spread one training step over many ranks so that it's fast and needs
# little memory?
#
# With the reading, the six puzzles of this session take a good two hours. Eight more are
# homework, and the last of them is the boss.

# %%
import sys

sys.path[:0] = ["../puzzles"]
import eight
import part1
import part3
import part4
import part5
from cluster import PuzzleError, outcome, run, trace_of
from cluster.leaderboard import compete

from helpers.draw import timeline
from helpers.grade import check
from helpers.lesson import answer, claim, predict, reveal, show

# %% [markdown]
# ## A step without numbers
#
# You write one function, and the cluster runs it once on every rank. Its argument `model` is all
# that a rank sees: its number, the layers, and everything it can do. The values are **symbolic**:
# a weight knows its layer, an activation knows its layer and its samples, and that's all they
# know. For example, here's a whole step on one rank, with one layer and two samples:


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
for event in models[0].log:
    print(f"{1e6 * event.time:6.0f} µs {event.typ:12} {event.memory / 1e6:6.0f} MB held")

# %% [markdown]
# Each call takes time on the rank's clock, and each value takes memory for as long as Python
# holds it. (The step begins with `load_weights`, which reads weights and optimizer states from
# the host's memory and takes its time here, although a real run does that once and not in every
# step. In the puzzles below it's free.)
#
# ## Why should you believe the numbers?
#
# Because the cluster knows where each value comes from. A simulator that only adds up times is
# easily fooled: build a gradient by hand, skip the backward, and report a record. Here a gradient
# that no rank has computed is refused:

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
# layer must end with its new weight. A deadlock is reported as in lesson 02:


# %%
async def both_receive(model):
    x = await model.receive(1 - model.rank)
    await model.send(1 - model.rank, x)


try:
    run(both_receive, 2, 1, 2)
except PuzzleError as error:
    print(error)

# %% [markdown]
# ## The puzzles
#
# The puzzles are Sasha Rush's [LLM Training
# Puzzles](https://github.com/srush/LLM-Training-Puzzles), and they count in **steps** instead of
# seconds: a forward or a backward of one sample through one layer takes 1 step, an update 0.5, a
# collective 0.3, and a message 0.2 at each of its two ends. Keep what a rank holds in the five
# dictionaries of `model.storage()`, because that's where its memory is counted, in elements.
#
# You reach a puzzle's target in time by putting the right work on the right rank, and its target in
# memory by throwing things away at the right moment. From puzzle 3 on, the published memory target
# can be beaten: a step that needs less gets a star.
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
    show(timeline(trace_of(models, ranks=range(min(ranks, 4)))))


# %% [markdown]
# ### Your turn: PZ-1 · 15 minutes · 5 points
#
# One rank has the whole batch. Write `basic()` in `puzzles/eight.py`: forward, loss, backward,
# update. This puzzle is about how long things live: an activation is needed until its backward
# has run, and not a moment longer. Target: 17 steps and 2.6 million elements, for 2 layers and 4
# samples.

# %%
check("PZ-1")

# %%
play("basic")

# %% [markdown]
# ### Your turn: PZ-2 · 15 minutes · 5 points
#
# Write `accumulation()` in `puzzles/eight.py`. Gradients add up, so a rank can take one sample at a
# time and keep only the sum. Target: 17 steps and 2.0 million elements.

# %%
check("PZ-2")

# %%
play("accumulation")

# %% [markdown]
# Compare the two memory strips. The time is the same because the work is the same, but now a rank
# holds only one sample's activations at a time instead of four.
#
# ## Many ranks, each with everything
#
# With data parallelism each rank takes its own samples, and `await model.all_reduce(gradient,
# layer)` returns the sum of the gradients over all ranks. Four ranks can share the 17 steps of
# puzzle 1. A quarter of that would be 4.25 steps, but the target is 5.6.

# %%
predict(
    "L16-1",
    "Four ranks share the 17 steps of puzzle 1. Why does it take 5.6 steps, and not 17 / 4 = 4.25?",
    "the ranks wait for the slowest one",
    "some of the work isn't shared, and sending costs something",
    "one rank has more samples than the others",
)

# %% [markdown]
# ### Your turn: PZ-3 · 20 minutes · 10 points
#
# Write `ddp()` in `puzzles/eight.py`, for 4 ranks with one sample each. Target: 5.6 steps and 1.8
# million elements.

# %%
check("PZ-3")

# %%
play("ddp")
reveal("L16-1")

# %% [markdown]
# With $L$ layers and $b$ samples on each rank, a step takes
#
# $$T = \underbrace{2Lb}_{\text{shared}} + \underbrace{0.3\,L}_{\text{collectives}} +
# \underbrace{0.5\,L}_{\text{updates}},$$
#
# and only the first term shrinks if you add ranks to share the same batch. Every replica repeats
# all updates, and sharding will put an end to that. (The rules of the puzzles charge 0.5 steps
# for a shard's update, too; on a real device it would cost a fraction.)
#
# Eight ranks train 3 layers, with one sample on each rank. How many steps does that take?

# %%
mine = None
answer("L16-2", mine)

# %% [markdown]
# ## Many ranks, each with a shard
#
# Cut a tensor into as many parts as there are ranks, and each part is a **shard**. In puzzle 4
# each rank keeps one shard of every weight and of its optimizer state, and `await
# model.all_gather(shard, layer)` puts a layer together when it's needed.
#
# ### Your turn: PZ-4 · 25 minutes · 10 points
#
# Write `weight_sharded()` in `puzzles/eight.py`. Target: 20.4 steps and 2.8 million elements, with
# 6 layers.

# %%
check("PZ-4")

# %%
play("weight_sharded")

# %% [markdown]
# A rank that updates one shard needs only one shard of the gradient. `await
# model.reduce_scatter(gradient, layer)` sums over the ranks and returns to each rank its own
# shard. That's the last piece of **ZeRO stage 3**, which PyTorch calls FSDP.

# %%
predict(
    "L16-3",
    "Between two steps, how much memory does each of 4 ranks need for the weights and states of a "
    "layer, compared with one rank that keeps everything?",
    "the same",
    "a half",
    "a quarter",
)

# %% [markdown]
# ### Your turn: PZ-5 · 15 minutes · 10 points
#
# Write `fully_sharded()` in `puzzles/eight.py`. Target: 20.4 steps and 2.3 million elements.

# %%
check("PZ-5")

# %%
play("fully_sharded")
for name, ranks in (("basic", 1), ("fully_sharded", 4)):
    log = run(getattr(eight, name), ranks, 6, 4, profile="bytes")[0].log
    loaded = max(event.memory for event in log if event.typ == "load_weights")
    print(f"{name}: a rank has loaded {loaded / 1e6:,.0f} MB of weights and states")
reveal("L16-3")

# %% [markdown]
# During a step, a rank also holds one whole layer at a time, and its activations, which data
# parallelism has already divided.
#
# ## Many ranks, each with some layers
#
# Instead of gathering weights where the samples are, a pipeline sends the activations to where the
# weights are. `await model.send(rank, value)` and `await model.receive(rank)` are all it needs.
# With 8 layers and 4 samples, one rank alone would take $8 \cdot 4 \cdot 2 + 8 \cdot 0.5 = 68$
# steps.

# %%
predict(
    "L16-4",
    "Four ranks hold two layers each, and the whole batch goes from rank to rank and back. How "
    "many steps does that take?",
    "near 17, a quarter of 68",
    "near 34, a half",
    "near 67, hardly fewer than one rank needs",
)

# %% [markdown]
# ### Your turn: PZ-6 · 25 minutes · 10 points
#
# Write `pipeline()` in `puzzles/eight.py`: the naive pipeline of lesson 05, with the whole batch
# in one piece. Memory target: 3.1 million elements. The target in steps is printed above your
# picture.

# %%
check("PZ-6")

# %%
play("pipeline")
reveal("L16-4")

# %% [markdown]
# The naive pipeline divides the memory, but not the time. PZ-7 below cures that with
# micro-batches, as in lesson 06: each sample is sent on as soon as it's ready.
#
# ## What does it really cost?
#
# Steps are simple, but there's no GPU in them. A **profile** says what things cost:
#
# - `steps`: the rules of the puzzles.
# - `classic`: the arithmetic of a course, the CS 8803 SMR lab: H100 GPUs and simple rules. A shard
#   costs as much to move as a whole layer, and memory is counted in elements.
# - `bytes`: FLOPs, bytes and latencies. Backward takes twice as long as forward, Adam's states have
#   their true size, NVLink joins the 8 GPUs of a node and a slower network joins the nodes, and a
#   rank can communicate while it computes.
#
# Your `ddp` and `fully_sharded` run under each of them. ZeRO stage 3 moves each layer three
# times: two all-gathers and one reduce-scatter. Data parallelism has one all-reduce. The
# `classic` rules charge the same for each of these, so by those rules ZeRO communicates three
# times as long.

# %%
predict(
    "L16-5",
    "Now count the bytes that a ring really moves. How much longer does ZeRO-3 communicate than "
    "data parallelism, on 32 ranks?",
    "3 times as long",
    "1.5 times as long",
    "just as long",
)

# %%
OPS = ("all_reduce", "all_gather", "reduce_scatter")


def communication(step, profile):
    log = run(step, 32, 64, 32, profile=profile)[0].log
    return sum(event.duration for event in log if event.typ in OPS)


ratios = {}
for profile in ("classic", "bytes"):
    plain, zero = (communication(step, profile) for step in (eight.ddp, eight.fully_sharded))
    ratios[profile] = zero / plain
    print(f"{profile:8} data parallel {plain:.3f} s, ZeRO-3 {zero:.3f} s: {zero / plain:.2f} x")
claim("by bytes, ZeRO-3 communicates so many times as long", ratios["bytes"], 1.5, within=0.02)
reveal("L16-5")

# %% [markdown]
# In a ring of $n$ ranks, a reduce-scatter or an all-gather of $S$ bytes sends $\frac{n-1}{n}S$
# from each rank, and an all-reduce is one of each. So data parallelism sends $2\,\frac{n-1}{n}S$
# a step, and ZeRO-3 sends $3\,\frac{n-1}{n}S$: the ratio 1.5 of the ZeRO paper
# ([1910.02054](https://arxiv.org/abs/1910.02054), section 7). (Your run had to return 1.5, since
# the profile charges by these formulas. It counts; it doesn't measure a network.)
#
# But the 1.5 holds only for **one** micro-batch per step. With $k$ accumulated micro-batches,
# data parallelism still reduces once, but ZeRO-3 gathers and scatters for each: $3k$ against 2. A
# pipeline needs many micro-batches, which is why pipelines are usually combined with ZeRO-1.
#
# ## Homework
#
# Here are eight more puzzles, nine hours in all. Each builds on those before it, so you can stop
# anywhere.
#
# ### Your turn: PZ-7 · 30 minutes · 15 points
#
# Write `gpipe()` in `puzzles/eight.py`: send each sample on as soon as it's ready. Target: 33.8
# steps and 4.2 million elements. (This memory target is generous. How far below it can you get?)

# %%
check("PZ-7")

# %%
play("gpipe")

# %% [markdown]
# ### Your turn: PZ-8 · 45 minutes · 20 points
#
# Write `pipeline_sharded()` in `puzzles/eight.py`: sixteen ranks, four pipelines of four stages,
# and each layer sharded over all sixteen. What's new is that a collective needs all of its ranks,
# even those that have nothing to add. Target: 16 steps and 0.97 million elements. The picture
# shows the first pipeline of the four.

# %%
check("PZ-8")

# %%
play("pipeline_sharded")

# %% [markdown]
# The next five are the parts of the CS 8803 SMR lab. They're larger, and they count in seconds.
# Each is also a script: `cd puzzles`, then `python part3.py --ranks 8 --micro-batch 64 --profile
# classic`. It prints time, memory and MFU, and writes a trace to `debug_traces/` that opens in
# [Perfetto](https://ui.perfetto.dev).
#
# ### Your turn: PZ-P0 · 30 minutes · 10 points
#
# Write `train_ddp()` in `puzzles/part0.py`: data parallelism with gradient accumulation. Reduce
# once, not once for each micro-batch.

# %%
check("PZ-P0")

# %% [markdown]
# ### Your turn: PZ-P1 · 45 minutes · 20 points
#
# Write `part1_training_loop()` in `puzzles/part1.py`: ZeRO, with weights, gradients and states in
# shards, for any micro-batch.

# %%
check("PZ-P1")

# %% [markdown]
# ### Your turn: PZ-P2 · 30 minutes · 15 points
#
# Write `part2_training_loop()` in `puzzles/part2.py`: the naive pipeline, with any number of layers
# on a rank.

# %%
check("PZ-P2")

# %% [markdown]
# ### Your turn: PZ-P3 · 60 minutes · 25 points
#
# Write `part3_training_loop()` in `puzzles/part3.py`: 1F1B, the schedule of lesson 06.

# %%
check("PZ-P3")

# %% [markdown]
# ### Your turn: PZ-P4 · 120 minutes · 25 points
#
# Part 4 asks for the highest **MFU**, model FLOPs utilization: the time that the step would take
# if every rank computed at its peak rate all the time, divided by the time that it takes. Write
# `part4_training_loop()` in `puzzles/part4.py`, with any strategy you like: 80 % MFU in at most
# 60 GB on 32 ranks, by the `classic` rules. `model.group(ranks)` returns an object whose
# collectives take only these ranks.
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
show(timeline(trace_of(models, ranks=[0, 15])))

# %% [markdown]
# Look at the two lanes of a rank: a collective that lies under a forward or a backward adds
# nothing to the step. On a real GPU it isn't quite free, because NCCL's collectives are kernels,
# which take some of the GPU's processors and memory bandwidth away from the matrix products
# beside them.
#
# But don't take this MFU at face value. `bytes` has one matrix product a layer: no attention, no
# normalization, no optimizer that touches memory in twenty small kernels. Lesson 17 has a cluster
# model that was checked against measured runs, and for a real transformer it predicts about half
# as much. The boss is played by that model's rules.
#
# ## The boss
#
# 60 layers of GPT-3's width are 109 billion parameters. You have 48 A100s with 80 GB each, in six
# nodes of eight. Inside a node a card sends 247 GB/s; between nodes the eight cards share 400
# Gbit/s, of which 73 % arrive. The batch is 192 sequences of 2,048 tokens. A fourth profile,
# `measured`, charges what lesson 17's cluster model says, whose constants were fitted to measured
# training steps. An activation here stands for everything that its layer keeps for backward, the
# $34\,sbh$ bytes of lesson 15.
#
# Weights, gradients and states take 16 bytes a parameter:

# %%
parameters, layer_gb = 60 * 12 * 12288**2, 34 * 2048 * 12288 / 1e9
print(f"states: {16 * parameters / 1e12:.2f} TB in all, {16 * parameters / 48e9:.0f} GB a card")
print(f"activations of one sequence: {layer_gb:.2f} GB a layer, {60 * layer_gb:.0f} GB in all")

# %%
predict(
    "L16-6",
    "ZeRO-3 over all 48 cards, one sequence at a time: shards of the states and the activations of "
    "all layers. 1F1B over 48 stages: at most two layers on a card. Which of them fits into 80 GB?",
    "both",
    "only ZeRO-3",
    "only the pipeline",
    "neither",
)

# %%
plain = {"ZeRO-3": part1.part1_training_loop, "1F1B": part3.part3_training_loop}
print(compete(plain))
reveal("L16-6")

# %% [markdown]
# So you have to combine what you know. And there's one more thing that you may do, recomputation
# as in lesson 15: `forward` can be called again for the same samples.
#
# ### Your turn: PZ-P5 · 180 minutes · 30 points
#
# Write `part5_training_loop()` in `puzzles/part5.py`. It passes with an MFU of 35 %, and its
# score is the MFU. Here are some solutions to compare yours with. ZeRO-3 over all cards with
# recomputation reaches 14 % to 19 %, and with two sequences at once, 38 %. A pipeline whose
# stages are nodes, with ZeRO-3 inside each, reaches 36 % if it recomputes everything and waits
# for each message, and 50 % if messages travel beside the computing. With recomputation only
# where memory is short, it's 55 %. Can you beat that?

# %%
check("PZ-P5")

# %%
print(compete({"yours": part5.part5_training_loop} | plain))

# %% [markdown]
# A class can have its own leaderboard: `python -m cluster.leaderboard FOLDER --part 5` runs a
# folder of submissions, each in a sandbox, and counts again what each of them did.
#
# ## What to remember
#
# - Each sample counts once in each gradient, and each copy of each weight is updated.
# - Keep an activation until its backward, and no longer.
# - Data parallelism needs one all-reduce a layer. ZeRO-3 needs three smaller collectives, 1.5 times
#   the bytes for one micro-batch, and $3k/2$ times for $k$ of them.
# - A pipeline sends activations instead of weights. It divides the memory at once, but the time
#   only with micro-batches.
# - Communication that overlaps with computing adds little to the step, but it's never quite free.
# - Where no single strategy fits, combine them along the network: shards inside a node, stages
#   between nodes, and recomputation where memory is short.
#
# ## In the wild
#
# - Llama 3 405B ran on 16,384 H100s with TP 8, PP 16 and DP 128, and reached 400 TFLOP/s a GPU, an
#   MFU of 41 % ([2407.21783](https://arxiv.org/abs/2407.21783), table 4). Compare that with what
#   `bytes` promises you.
# - DeepSeek-V3 used 16 pipeline stages, 64-way expert parallelism over 8 nodes and ZeRO-1, on
#   2,048 H800s ([2412.19437](https://arxiv.org/abs/2412.19437), section 3.2). It's ZeRO-1 and not
#   3, and now you know why.
# - The ZeRO paper counts the traffic as you did: $2P$ for stages 1 and 2, $3P$ for stage 3,
#   with $P$ parameters ([1910.02054](https://arxiv.org/abs/1910.02054), section 7).
#
# Go and read `FSDPParamGroup` in PyTorch's
# `torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py`. `unshard` is your all-gather,
# `reshard` your `del`, and `post_backward` your reduce-scatter. Look for the line that starts the
# next layer's all-gather early.
#
# ## Where next
#
# You've now spread a step over a cluster by hand. [Lesson 17](17_design_your_own.ipynb) lets a
# program try thousands of ways, for a real model and a real cluster.
