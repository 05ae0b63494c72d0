# %% [markdown]
# # DP x PP: two pipelines, six ranks, one model
#
# *Reading 45 minutes, tasks 55*
#
# *With twenty minutes: read up to DP-PP-1, do it, and look at the picture of twelve ranks.*
#
# The model of lesson 05 needs three devices, and you have six. A pipeline of six stages would use
# them all, but its bubble grows with every stage, and at some point there are no more layers to
# cut. Six replicas would use them all too, but not one of them would fit on its device. So real
# clusters do both: they build a pipeline that's just long enough to hold the model, and then repeat
# it until they run out of machines.
#
# This lesson is the first capstone. You write the trainer, you prove that it's right, and then six
# ranks train a model from scratch with it. At the end of that run it tells you a story.
#
# **Question.** Six ranks hold two copies of a model in three stages each. Who has to talk to whom,
# about what, and how fast does each of these links have to be?

# %%
import sys

import torch

from helpers.check import check, solve
from helpers.lesson import answer, predict, reveal, show, show_code
from helpers.network import Link
from helpers.ranks import find_place, launch
from helpers.schedules import interleaved, one_f_one_b
from helpers.simulate import Costs, simulate

# %%
from simplellm.slicing import whole_weights

sys.path[:0] = ["../primer", "../DP_PP"]
import clip_and_tie
import intro
import intro_DP_PP

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## The grid
#
# Write the six ranks as a table of two rows and three columns. Each row is a **pipeline**: one
# whole model, cut into three stages. Ranks 0, 1 and 2 are the first row, ranks 3, 4 and 5 the
# second, and each row reads its own stories.

# %% jupyter={"source_hidden": true}
predict(
    "dp_x_pp-1",
    "Rank 1 has finished its backward. With whom does it average its gradients?",
    "with all six ranks",
    "with the ranks of its pipeline: 0 and 2",
    "with one rank of the other pipeline: 4",
)

# %% jupyter={"source_hidden": true}
reveal("dp_x_pp-1")

# %% [markdown]
# | | stage 0 | | stage 1 | | stage 2 |
# |---|:-:|:-:|:-:|:-:|:-:|
# | pipeline 0 | rank 0 | ⇄ | rank 1 | ⇄ | rank 2 |
# | gradients | ⇅ | | ⇅ | | ⇅ |
# | pipeline 1 | rank 3 | ⇄ | rank 4 | ⇄ | rank 5 |
#
# Each **row** carries what a pipeline needs: activations to the right, and the gradients of these
# activations back to the left. Each **column** carries what data parallelism needs: gradients of
# weights. Each rank belongs to exactly one row and one column, so it needs two process groups, and
# the classic bug of such a trainer is a collective sent to the wrong one. In torch you create
# groups with `dist.new_group`, which by default every rank has to call for every group, its own or
# not. `make_groups(grid)` does that, and returns a rank's own two as `.pp` and `.dp`.
#
# The result is the step of one device with the batch of all rows. A row takes the mean over its
# micro-batches (lesson 06) and a column the mean over the rows (lesson 03). All of them cover the
# same number of tokens, so the mean of these means is the mean over the whole batch.
#
# ### Your turn: DP-PP-1 · 10 minutes · 5 points
#
# Write `average_gradients()` in `DP_PP/intro_DP_PP.py`. It's the function of lesson 03 with one
# difference, and that difference is this lesson: the average goes over a group, not over all ranks.

# %%
check("DP-PP-1")

# %% [markdown]
# ### Your turn: DP-PP-2 · 45 minutes · 25 points
#
# Now the trainer itself: `train()` in `DP_PP/intro_DP_PP.py`, for *any* grid. There may be one
# pipeline of four stages, or four replicas of a single stage; the check tries several grids in
# float64 and compares every weight with one device's. The docstring lists the five parts, and for
# each of them you have to decide: does it depend on my row, on my column, or on neither? `Pipeline`
# runs the schedule for you: it does what you wrote in PP-3.

# %%
check("DP-PP-2")

# %% [markdown]
# ## Is it one device?
#
# Six ranks train with your trainer: two pipelines, three sequences each. One device takes a batch
# of the same six sequences. Both use SGD, because under Adam a constant factor on all gradients
# would go unnoticed (lesson 03). Then we compare the weights, tensor by tensor, and print the
# largest difference on each rank.


# %%
def train_alone(flags, dtype):
    torch.set_default_dtype(dtype)
    trained = intro.train(intro.read_flags(flags), lambda step, loss: None)
    torch.set_default_dtype(torch.float32)
    return trained


def train_rank(flags, dtype):
    torch.set_default_dtype(dtype)
    options = intro_DP_PP.read_flags(flags)
    return intro_DP_PP.train(options, find_place(), "cpu", lambda step, loss: None)


def distances(mine, whole):
    """The largest difference of each tensor."""
    return {name: (mine[name] - whole[name]).abs().max().item() for name in mine}


# %%
flags = ["--steps", quick("12", "2"), "--optimizer", "sgd", "--lr", "0.3"]
one = [*flags, "--batch-size", "6", "--like-ranks", "2"]
alone, whole, _ = train_alone(one, torch.float32)
six = launch(train_rank, 6, (flags, torch.float32), quiet=True)

# %% tags=["training"]
for rank, (_, stage, _) in enumerate(six):
    far = distances(whole_weights(stage), whole.state_dict())
    worst = max(far, key=far.get)
    print(f"rank {rank}: {far[worst]:.1e} in {worst}")

# %% [markdown]
# That isn't zero, and ranks 0 and 3 are off by far more than the others. Is it a bug?

# %% jupyter={"source_hidden": true}
predict(
    "dp_x_pp-2",
    "The embedding on ranks 0 and 3 differs from one device's far more than any other weight. Why?",
    "rounding: float32 adds the same numbers in another order, and training amplifies it",
    "a factor: the embedding's gradient is averaged once too often, or not at all",
    "a race: stage 0 averages before its last micro-batch has come back",
)

# %% [markdown]
# You can tell rounding from a bug without any reasoning, because only rounding depends on the
# precision. In float64 a number has 29 more significant bits, so rounding errors shrink by about
# $2^{29} \approx 5\cdot10^8$. A wrong factor or a missing micro-batch stays exactly as large as it
# is.

# %% jupyter={"source_hidden": true}
_, whole64, _ = train_alone(one, torch.float64)
six64 = launch(train_rank, 6, (flags, torch.float64), quiet=True)


# %%
def worst_of(ranks, whole):
    parts = [whole_weights(stage) for _, stage, _ in ranks]
    return max(max(distances(part, whole.state_dict()).values()) for part in parts)


in32, in64 = worst_of(six, whole), worst_of(six64, whole64)

# %% jupyter={"source_hidden": true}
print(f"largest difference: {in32:.1e} in float32, {in64:.1e} in float64")
assert in64 < 1e-6 * in32
reveal("dp_x_pp-2")

# %% [markdown]
# So it's rounding. (The embedding drifts furthest because the first RMSNorm divides its rows by
# their own size: they begin with entries of about 0.02, so its gradient, and each rounding error in
# it, comes back some fifty times as large.) Keep the test in mind. When a parallel trainer is
# "almost" right, run both sides in float64 before you believe either explanation. It takes a
# minute, and it ends the discussion.
#
# ## What no stage can do alone
#
# Clipping and tied embeddings concern the whole model rather than one stage, and a grid breaks
# both.
#
# **Clipping.** Before the update, the gradient is scaled down if its norm over the *whole* model is
# too large. A stage sees only its own part of it.

# %% jupyter={"source_hidden": true}
predict(
    "dp_x_pp-3",
    "The columns have averaged. Each rank sums the squares of its gradients. Over which ranks must "
    "these sums be added up to get the norm of the whole model?",
    "over all six: the norm is that of everything",
    "over its row: the three stages of one pipeline",
    "over its column: the two ranks with the same layers",
)

# %% jupyter={"source_hidden": true}
show_code("DP_PP/clip_and_tie.py", "clip")

# %% [markdown]
# **Tied embeddings.** Many models use one matrix as embedding and as head. In a pipeline the first
# stage needs it and so does the last, so each has a copy, and each copy gets only the gradient of
# its own use. The gradient of the one weight is the sum of both, so before the update the two ranks
# send each other theirs and add them up: that's `add_tied(copies, tie)` in
# `helpers/pipeline/tied.py`.
#
# Together they have a trap of their own: once both ends hold the sum, a tied weight would count
# twice in the norm, so the last stage skips it. Here is a small tied model on six ranks after three
# clipped steps in float64, done right and in five wrong ways. None of the wrong ones raises an
# error.

# %%
far = clip_and_tie.run()
for way, distance in far.items():
    print(f"{distance:.0e} from one device: {clip_and_tie.WRONG.get(way, 'right')}")

# %%
least = min(distance for way, distance in far.items() if way != "right")
print(f"done right, in float64: {far['right']:.1e}")
assert far["right"] < 1e-12
print(f"the mildest of the wrong ways: {least:.1e}")
assert least > 1e-4
reveal("dp_x_pp-3")

# %% [markdown]
# ## A model to show a friend
#
# Your trainer matches one device to the last digit that matters, so let's put it to work: six
# ranks, a model with three layers, Adam, and 300 steps from random weights. Rank 2 prints nothing
# while it trains, but its losses come back. Then we put the three stages of one pipeline together
# again, and the model tells a story.

# %%
small = ["--size", "story", "--layers", "3"]
tokenizer = intro.make_tokenizer(intro.read_flags(small))
longer = [*small, "--steps", quick("300", "2"), "--lr-schedule", "decay"]
trained = launch(train_rank, 6, (longer, torch.float32), quiet=True, checked=False)
losses = [sum(pair) / 2 for pair in zip(trained[2][0], trained[5][0], strict=True)]

# %% tags=["training"]
mine = intro.make_model(intro.read_flags(small), tokenizer)
mine.load_state_dict(whole_weights(stage for _, stage, _ in trained[:3]))
end = tokenizer.eos_id
how = {"temperature": 0.5, "top_p": 0.95, "eos_id": end, "cache": True, "seed": 3}
story = mine.generate([end], quick(110, 5), **how)
print(f"loss {losses[0]:.2f}, and after {len(losses)} steps {losses[-1]:.2f}\n")
print(tokenizer.decode([i for i in story if i != end]))

# %% [markdown]
# It isn't literature. But six processes, none of which held more than one of its three layers,
# trained it together, message by message. For other stories change `seed` or `temperature`; for a
# better one, `--steps`.
#
# — *With ninety minutes, stop here.* —
#
# ## What the columns cost
#
# In a step each row goes through warm-up, steady state and cool-down on its own, and the columns
# meet only at the end. What does that add? Our six ranks share a few cores and can't tell, so we
# ask the simulator: one of the two pipelines, where each column has a link of its own and its
# all-reduce takes as long as four forwards.

# %%
plan = one_f_one_b(3, 6)
without = simulate(plan, Costs())
slow = simulate(plan, Costs(all_reduce=4.0))
for rank in range(3):
    (done,) = (e.end for e in slow.trace.events_of(rank) if e.kind == "all-reduce")
    print(f"stage {rank}: its column has averaged after {done:.0f} s")

# %% jupyter={"source_hidden": true}
print(f"step {without.step_time:.0f} s without the all-reduces, {slow.step_time:.0f} s with them")
show(slow.trace)

# %% [markdown]
# The last stage finishes its last backward first, and while the gradients still ripple back to
# stage 0, its column has time for the all-reduce. Stage $r$ ends $r\,t_B$ before stage 0, so an
# all-reduce of $a$ seconds adds only
#
# $$\max_r\,(a_r - r\,t_B)$$
#
# to the step. If all stages are equal, that's stage 0's, $a_0$. (Where the columns share one
# network card, their times do add up. We'll come to that.) Can stage 0's be hidden as well?
#
# It can start earlier if part of the gradients is complete earlier. With the interleaved schedule
# of lesson 07 a rank holds two chunks, and the later one has seen its last backward while the
# earlier one still has work. `Pipeline` calls `gradients_ready(stage)` at that moment, and then its
# average can start:


# %%
def step_with_averages(plan, costs, average):
    """The seconds of a step in which each chunk's average starts as soon as it can."""
    done, ends = simulate(plan, costs), []
    for rank in range(plan.size):
        last = {e.info["stage"]: e.end for e in done.trace.events_of(rank) if e.kind == "B"}
        ends.append(0.0)
        for complete in sorted(last.values()):
            ends[-1] = max(ends[-1], complete) + average
    return max(ends)


half = Costs(0.5, 0.5, 0.5)  # a chunk is half a stage, and its average takes half as long
for name, plan, costs, average in (
    ("one chunk", one_f_one_b(3, 6), Costs(), 4.0),
    ("two chunks", interleaved(3, 6, chunks=2), half, 2.0),
):
    alone, both = simulate(plan, costs).step_time, step_with_averages(plan, costs, average)
    print(f"{name}: {alone:g} s without averages, {both:g} s with them")

# %% [markdown]
# Half of the average hides, and what's left is that of the last chunk.
#
# ## Which messages are larger?
#
# A pipeline sends activations between neighbors: for each sequence $s \cdot d$ numbers forward and
# as many back, however many layers a stage has. A column averages the gradients of its stage: $P/p$
# numbers for $P$ parameters in $p$ stages, however many sequences there were. So the gradients are
# **fixed**, and the activations **grow with the tokens of a step**.
#
# Take a model of 7 billion parameters and width 4,096, cut into 4 stages, with sequences of 2,048
# tokens and 2 bytes per number. **How many sequences must a pipeline read in one step so that the
# activations that a stage sends forward are as many bytes as its gradients?**

# %%
mine = None
answer("dp_x_pp-5", mine)

# %% [markdown]
# So which load is larger depends on the tokens of a pipeline. BLOOM 176B, with 12 stages, had each
# pipeline read 256 sequences of 2,048 tokens and width 14,336 in a step, with 2 bytes for each
# number (it accumulated its gradients in 4, which doubles the second figure):

# %%
activations, gradients = 256 * 2048 * 14336 * 2, 176e9 / 12 * 2
print(f"{2 * activations / 1e9:.0f} GB of activations there and back, "
      f"{gradients / 1e9:.0f} GB of gradients in a stage")  # fmt: skip

# %% [markdown]
# The two are almost equal. But an all-reduce among 8 pipelines sends 2 · 7/8 times its gradients,
# 51 GB: even with 4 million tokens a step, BLOOM's columns send more than its rows.
#
# Bytes aren't the whole difference. Activations are on the critical path: one that arrives late
# makes the next stage stall. Gradients are needed once a step, and can travel while something else
# is computed, if there is anything left to compute.
#
# ## Which messages should leave the machine?
#
# You have three machines with four GPUs each. Inside a machine the links carry 300 GB/s. Each
# machine has *one* network card of 10 Gbit/s, 1.25 GB/s, and its four GPUs share it: a quarter for
# each, if all four send. There are two ways to place twelve ranks (boxes: pipeline · stage):
#
# ![Two ways to place twelve ranks on three machines of four. Left, columns cross: each machine
# holds one pipeline of four stages, and gradients travel between the machines through their cards.
# Right, pipelines cross: each machine holds one stage of four pipelines, and activations travel
# between the machines.](../imgs/machines.svg)
#
# (Three stages need more memory than four: 2.3 billion parameters a GPU in place of 1.75, with 16
# bytes each 37 GB in place of 28. Say it fits.) Computing takes 0.19 s forward and twice that
# backward for one sequence through the whole model, and a step has 48 sequences.

# %% jupyter={"source_hidden": true}
predict(
    "dp_x_pp-6",
    "Which groups should go through the cards?",
    "the columns: 3 pipelines of 4 stages, each inside one machine",
    "the pipelines: 4 of 3 stages, one stage on each machine",
    "it makes no difference, since the same model is trained on the same 12 GPUs",
)


# %%
def step_seconds(plan, dp, row, column, parameters=7e9):
    costs = Costs(
        *[0.19 / plan.stages] * 3,
        message_bytes=2 * 2048 * 4096,
        bandwidth=1 / row.beta,
        latency=row.alpha,
    )
    average = column.all_reduce_seconds(2 * parameters / plan.stages, dp)
    return step_with_averages(plan, costs, average)


# %%
inside, card, quarter = Link(8 * 300_000, 0.01), Link(10_000, 0.05), Link(2_500, 0.05)
columns_cross = step_seconds(one_f_one_b(4, 16), 3, inside, quarter)
pipelines_cross = step_seconds(one_f_one_b(3, 12), 4, quarter, inside)
wished = step_seconds(one_f_one_b(4, 16), 3, inside, card)
ideal = step_seconds(one_f_one_b(4, 16), 3, inside, inside)

# %% jupyter={"source_hidden": true}
print(f"no slow link at all {ideal:.2f} s a step")
print(f"the columns cross   {columns_cross:.2f} s (with a card for each GPU: {wished:.2f} s)")
print(f"the pipelines cross {pipelines_cross:.2f} s")
reveal("dp_x_pp-6")

# %% [markdown]
# The columns add 15 s to a step: 3.5 GB around a ring of three machines, at a quarter of a card,
# with nothing to hide behind. (ZeRO-1 of lesson 13, which Megatron-LM can run down the columns,
# sends as many bytes where gradients and weights take 2 each.) The pipelines add a second. Where
# does that come from? A message of $2\,s\,d$ = 16.8 MB takes $c$ = 54 ms through its quarter. With
# 1F1B, stage 0 has only $p$ micro-batches in flight, so $p$ micro-batches are completed in the time
# that one needs for its round trip: down and up through $p$ stages, with $p-1$ messages each way. A
# micro-batch therefore takes
#
# $$\frac{p\,(F+B) + 2\,(p-1)\,c}{p} \;=\; F + B + \frac{2\,(p-1)}{p}\,c.$$
#
# Here $F + B$ = 190 ms, and the messages add 72 ms to every micro-batch, however long the step is.
#
# Once the pipeline is full, a stage that has $k$ micro-batches in flight pays nothing as soon as
# $k\,(F+B)$ covers the round trip: $k \ge p + 2\,(p-1)\,c/(F+B) = 4.1$, so five are enough. That's
# **eager 1F1B** ([2211.05322](https://arxiv.org/abs/2211.05322)): twice the warm-up, more memory,
# and the messages hide. A middle stage sends
# two messages for each micro-batch through the same share of a card, so what nothing can hide is a
# $c$ above half of $F + B$, 95 ms.
#
# And the columns? Their 15 s are the same for every step, however *many* sequences it has. With 48
# sequences they're most of the step; with 1,536, or 3 million tokens, the step computes for 73 s.
# If columns cross, a GPU computes for 13 % of the first step and for more than 80 % of the second.
# So with few tokens in a step, only pipelines may cross the slow links. With many, columns may
# cross too.
#
# Both orders exist, and now you can read them:
#
# - **Stages outermost**, replicas inside: Megatron-LM's default, `tp-cp-ep-dp-pp`.
# - **Replicas outermost**, stages inside: Llama 3, because "DP" there is sharded data parallelism,
#   which fetches weights and reduces gradients while the GPU computes, and so tolerates the slowest
#   links ([2407.21783](https://arxiv.org/abs/2407.21783), section 3.3.2). `Grid` has this order:
#   neighbors in a row have neighboring rank numbers. It pays where the averages hide.
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - DP x PP is a grid. A row is a pipeline, a column holds the same layers, and every rank is in one
#   of each.
# - The stories are divided among the rows. The first and the last stage of a row read the same
#   ones.
# - The result is that of one device with the batch of all rows. If it's close but not equal,
#   float64 tells rounding from a bug.
# - The norm for clipping is summed over a row, after the columns have averaged. A tied embedding
#   needs the sum of both ends' gradients, and counts once.
# - An all-reduce of stage $r$ has $r\,t_B$ of cool-down to hide in; stage 0's has nothing, unless a
#   rank holds two chunks: then the later chunk's can hide.
# - Gradients are fixed, activations grow with the tokens of a step. A message costs 1F1B $2(p-1)/p$
#   of itself for each micro-batch, and nothing with enough of them in flight.
# - With few tokens in a step, let pipelines cross between machines. With many, columns can, if the
#   averages hide, or steps are long. Always count how many GPUs share a card.
#
# ## In the wild
#
# - **Llama 3 405B** ran on 16,384 H100s as TP 8 x PP 16 x DP 128, and reached 400 TFLOP/s per GPU,
#   which is 41 % MFU ([2407.21783](https://arxiv.org/abs/2407.21783), table 4). With half the GPUs
#   and DP 64 it was 43 %.
# - **BLOOM 176B** used TP 4 x PP 12 x DP 8 on 384 A100s
#   ([2211.05100](https://arxiv.org/abs/2211.05100), section 3.4).
# - **Megatron-LM** ran a model of a trillion parameters on 3,072 A100s with TP 8 and PP 64, which
#   leaves DP 6 ([2104.04473](https://arxiv.org/abs/2104.04473), table 1).
#
# To read: in Megatron-LM, `initialize_model_parallel` in `megatron/core/parallel_state.py` builds
# these groups. Its argument `order="tp-cp-ep-dp-pp"` puts replicas inside stages; with
# `--use-tp-pp-dp-mapping` stages are inside replicas, as in `Grid`. In torchtitan it's
# `ParallelDims.build_mesh` in `torchtitan/distributed/parallel_dims.py`. Look for the dimension
# that changes fastest.
#
# ## Where next
#
# Stage 0 still waits for the average of its last chunk, and in plain data parallelism *every*
# all-reduce is exposed.
# [Lesson 09](09_what_training_costs.ipynb) counts what a step costs, and [lesson
# 11](11_buckets_and_overlap.ipynb) sends gradients while backward is still computing the rest of
# them.
