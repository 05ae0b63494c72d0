# %% [markdown]
# # DP x PP: two pipelines, six ranks, one model
#
# *Reading 30 minutes · tasks 60 · machine 2*
#
# *With twenty minutes: read up to DP-PP-1, do it, and choose a layout in the last section.*
#
# The model of lesson 05 needs three devices, and you have six. A pipeline of six stages would use
# them all, but its bubble grows with every stage, and at some point there are no more layers to
# cut. Six replicas would use them all too, but not one of them would fit on its device. So real
# clusters do both: they build a pipeline that's just long enough to hold the model, and then repeat
# it until they run out of machines.
#
# This lesson is the first capstone. Nothing in it is new, but everything has to fit together, and
# you write the trainer that makes it fit.
#
# **Question.** Six ranks hold two copies of a model in three stages each. Who has to talk to whom,
# about what, and how fast does each of these links have to be?

# %%
import sys

import torch

from helpers.draw import compare, curves, process_grid
from helpers.grade import check
from helpers.grid import Grid
from helpers.lesson import answer, claim, predict, quick, reveal, show
from helpers.network import Link
from helpers.ranks import find_place, launch
from helpers.schedules import one_f_one_b
from helpers.simulate import Costs, simulate
from helpers.timeline import Clickable
from helpers.trace import Trace, with_waits
from simplellm.slicing import whole_name

# %%
sys.path[:0] = ["../primer", "../DP_PP"]
import intro
import intro_DP_PP
import overlap

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## The grid
#
# Write the six ranks as a table of two rows and three columns. Each row is a **pipeline**: one
# whole model, cut into three stages. Ranks 0, 1 and 2 are the first row, ranks 3, 4 and 5 the
# second, and each row reads its own stories.

# %%
predict(
    "L08-1",
    "Rank 1 has finished its backward. With whom does it average its gradients?",
    "with all six ranks",
    "with the ranks of its pipeline: 0 and 2",
    "with one rank of the other pipeline: 4",
)

# %%
grid = Grid(dp=2, pp=3)
names = {"all": None} | {f"rank {rank}": rank for rank in range(grid.size)}
pictures = {name: process_grid(2, 3, rank) for name, rank in names.items()}
show(pictures["rank 1"], live=lambda: Clickable(pictures))
reveal("L08-1")

# %% [markdown]
# Click on a rank: its row and its column light up. (Without a kernel you see those of rank 1.)
#
# Along a **row** travels what a pipeline needs: activations to the right, and the gradients of
# these activations back to the left. Down a **column** travels what data parallelism needs:
# gradients of weights. Each rank belongs to exactly one row and one column, so it needs two process
# groups, and most bugs of such a trainer are a collective that went to the wrong one. In torch you
# create them with `dist.new_group`, which every rank has to call for every group, its own or not.
# `make_groups(grid)` does that, and returns a rank's own two as `.pp` and `.dp`.
#
# Why is the result the same as that of one device? The gradient of a batch is a mean over its
# tokens. Within a row, the pipeline takes the mean over its micro-batches, as in lesson 06. Down
# the columns we take the mean over the rows. A mean of means is the mean as long as the parts are
# equally large, so with $D$ rows, a batch of $b$ sequences each, and losses $\ell$:
#
# $$\nabla L = \frac{1}{D}\sum_{d=0}^{D-1} \nabla\Big(\frac{1}{b}\sum_{i=0}^{b-1}\ell(x_{d,i})\Big)
# = \nabla\,\frac{1}{Db}\sum_{d,i}\ell(x_{d,i}).$$
#
# The right-hand side is one device with a batch of $Db$ sequences. That's what we'll test.

# %% [markdown]
# ### Your turn: DP-PP-1 · 15 minutes · 10 points
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
# would go unnoticed (lesson 03).

# %%
flags = ["--steps", str(quick(12, 2)), "--optimizer", "sgd", "--lr", "0.3"]


def train_alone(dtype):
    torch.set_default_dtype(dtype)
    one = intro.read_flags([*flags, "--batch-size", "6", "--like-ranks", "2"])
    losses, whole, _ = intro.train(one, say=lambda step, loss: None)
    torch.set_default_dtype(torch.float32)
    return losses, whole.state_dict()


alone, weights = train_alone(torch.float32)


# %% tags=["training"]
def train_rank(dtype):
    torch.set_default_dtype(dtype)
    options = intro_DP_PP.read_flags(flags)
    losses, stage, trace = intro_DP_PP.train(options, find_place(), "cpu", lambda *_: None)
    named = {whole_name(n, stage.first_layer): w for n, w in stage.state_dict().items()}
    return losses, named, trace


def largest_difference(part, whole):
    return {n: (part[n] - whole[n]).abs().max().item() for n in part}


six = launch(train_rank, ranks=6, args=(torch.float32,), quiet=True)
both = [sum(pair) / 2 for pair in zip(six[2][0], six[5][0], strict=True)]
show(curves({"one device": alone, "six ranks": both}))

# %% [markdown]
# The losses agree. But you know from lesson 03 that a loss curve hides a lot, so let's compare the
# weights, tensor by tensor, and print the largest difference on each rank.

# %%
for rank, (_, part, _) in enumerate(six):
    far = largest_difference(part, weights)
    worst = max(far, key=far.get)
    print(f"rank {rank}: {far[worst]:.1e} in {worst}")

# %% [markdown]
# That isn't zero, and ranks 0 and 3 are off by far more than the others. Is it a bug?

# %%
predict(
    "L08-2",
    "The embedding on ranks 0 and 3 differs from one device's far more than any other weight. Why?",
    "rounding: float32 adds the same numbers in another order, and training amplifies it",
    "a factor: the embedding's gradient is averaged once too often, or once too few",
    "a race: stage 0 averages before its last micro-batch has come back",
)

# %% [markdown]
# You can tell rounding from a bug without any reasoning, because only rounding depends on the
# precision. In float64 a number has 29 more bits, so rounding errors shrink by about $2^{29}
# \approx 5\cdot10^8$. A wrong factor or a missing micro-batch stays exactly as large as it is.

# %%
_, weights64 = train_alone(torch.float64)
six64 = launch(train_rank, ranks=6, args=(torch.float64,), quiet=True)


def worst_of(ranks, whole):
    return max(max(largest_difference(part, whole).values()) for _, part, _ in ranks)


in32, in64 = worst_of(six, weights), worst_of(six64, weights64)
claim.below("largest difference in float64, and a millionth of that in float32", in64, 1e-6 * in32)
reveal("L08-2")

# %% [markdown]
# Keep this test in mind. When a parallel trainer is "almost" right, run both sides in float64
# before you believe either explanation. It takes a minute, and it ends the discussion.
#
# ## One step, seen from six ranks
#
# Here is a step of the run above. Each row goes through warm-up, steady state and cool-down on its
# own; the columns meet only at the end.

# %% tags=["time"]
trace = six[0][2].merged(*(trace for _, _, trace in six[1:]))
ends = [e.end for e in trace.events_of(0) if e.kind == "update"]
show(with_waits(trace).between(ends[-2], ends[-1]))

# %% [markdown]
# Six ranks share your cores, so the lengths in this picture are those of a crowded machine. To see
# what the layout itself costs, we ask the simulator: one of the two pipelines, with an all-reduce
# down each column that takes as long as four forwards.

# %%
predict(
    "L08-3",
    "Every column needs 4 s for its all-reduce, and each starts when its rank has done its last "
    "backward. Of the three columns, which one makes the step longer?",
    "all three: the step grows by 12 s",
    "the last stage's, which has the loss to compute as well",
    "the first stage's alone; the others' all-reduces cost nothing",
)

# %%
plan = one_f_one_b(3, 6)
without = simulate(plan, Costs())
slow = simulate(plan, Costs(all_reduce=4.0))
for rank in range(3):
    (done,) = (e.end for e in slow.trace.events_of(rank) if e.kind == "all-reduce")
    print(f"stage {rank}: its column has averaged after {done:.0f} s")
print(f"step {without.step_time:.0f} s without the all-reduces, {slow.step_time:.0f} s with them")
show(slow.trace)
reveal("L08-3")

# %% [markdown]
# The cool-down is the reason. The last stage finishes its backwards first, and while the gradients
# still ripple back to stage 0, its column has time to average. So in a pipeline with one stage per
# rank, most of the data-parallel traffic hides in a bubble that you've already paid for, and only
# the first stage's all-reduce is on the critical path.
#
# ## Hiding the rest
#
# Can that one be hidden as well? It can start earlier if part of the gradients is complete earlier.
# With the interleaved schedule of lesson 07 a rank holds two chunks, and the later chunk is done
# with its last backward while the earlier one still has work. So `Pipeline` takes a function:
# `gradients_ready(stage)` is called at the moment a stage has seen its last backward.
# `DP_PP/overlap.py` starts the average there. Its stages sleep where a model would compute, so that
# the step shows the schedule and not your machine, and only the columns are slow (60 ms a stage).


# %% tags=["time"]
def first_pipeline(trace):
    return Trace([e for e in with_waits(trace).events if e.rank < 3])


after, during = overlap.run(False), overlap.run(True)
both_ways = {"at the end": after, "with overlap": during}
show(compare({name: first_pipeline(trace) for name, trace in both_ways.items()}))

# %% tags=["time"]
saved = 1e3 * (after.duration - during.duration)
words = "ms a step with overlap, and with the average at the end"
claim.below(words, 1e3 * during.duration, 1e3 * after.duration, spread=0.03)

# %% [markdown]
# The average of the later chunk travels while the remaining backwards run. That of the first chunk
# can't, because its gradients are complete only when there is nothing left to compute. To hide that
# one too, you'd have to cut it into pieces and send each layer's gradients as soon as backward has
# passed that layer. That's the idea of lesson 09.
#
# ## Which link has to be fast?
#
# A pipeline sends activations between neighbors: for each micro-batch $s \cdot b \cdot h$ numbers
# forward and as many back, however many layers a stage has. A column averages the gradients of its
# stage: $P/p$ numbers for $P$ parameters in $p$ stages, however large the batch is.

# %%
predict(
    "L08-4",
    "A model of 7 billion parameters in 4 stages, batches of 8 sequences of 2,048 tokens, width "
    "4,096, numbers of 2 bytes. What is larger: all activations that a stage sends forward in a "
    "step, or the gradients of a stage?",
    "the activations",
    "the gradients",
)

# %%
activations = 8 * 2048 * 4096 * 2
gradients = 7e9 / 4 * 2
print(f"activations {activations / 1e9:.2f} GB, gradients {gradients / 1e9:.2f} GB")
along = f"{activations / 1e9:.2f} GB of activations a step, and as much back"
down = f"{gradients / 1e9:.1f} GB of gradients a step"
show(process_grid(3, 4, along_row=along, along_column=down))
reveal("L08-4")

# %% [markdown]
# The gradients are larger, but they're needed only once a step, and most of them can travel while
# something else is going on. Activations are smaller, but they're on the critical path: if one
# arrives late, the next stage stalls. So a row suffers from **latency**, a column from
# **bandwidth**.
#
# Now choose. You have three machines with four GPUs each. Inside a machine the links carry 300
# GB/s; between the machines there's Ethernet with 10 Gbit/s, or 1.25 GB/s. A row of four fits into
# one machine (then the columns go over the Ethernet), or a column of four does (then the rows do).
# Computing takes 0.19 s forward and twice that backward for one sequence through the whole model,
# and a step has 48 sequences.


# %%
def step_seconds(dp, pp, row, column, parameters=7e9, sequences=48):
    plan = one_f_one_b(pp, sequences // dp)
    costs = Costs(
        forward=0.19 / pp,
        input_grad=0.19 / pp,
        weight_grad=0.19 / pp,
        message_bytes=2 * 2048 * 4096,
        bandwidth=row.megabits * 1e6 / 8,
        latency=row.milliseconds / 1e3,
        all_reduce=column.all_reduce_seconds(2 * parameters / pp, dp) if dp > 1 else 0.0,
    )
    return simulate(plan, costs).step_time


inside, between = Link(8 * 300_000, 0.01), Link(10_000, 0.05)

# %%
predict(
    "L08-5",
    "Which groups should cross the slow Ethernet?",
    "the columns: 3 pipelines of 4 stages, each inside one machine",
    "the rows: 4 pipelines of 3 stages, one stage on each machine",
    "it makes no difference, since the same model is trained on the same 12 GPUs",
)

# %%
columns_cross = step_seconds(dp=3, pp=4, row=inside, column=between)
rows_cross = step_seconds(dp=4, pp=3, row=between, column=inside)
ideal = step_seconds(dp=3, pp=4, row=inside, column=inside)
print(f"no slow link at all {ideal:.2f} s a step")
print(f"the columns cross   {columns_cross:.2f} s")
print(f"the rows cross      {rows_cross:.2f} s")
reveal("L08-5")

# %% [markdown]
# Here only the first stage's all-reduce is exposed, and it still more than doubles the step. The
# activations of the rows travel in small pieces while both neighbors compute. That's why large runs
# lay out their ranks by appetite: tensor parallelism, which communicates in the middle of every
# layer (lesson 12), stays inside a machine; pipelines go between machines; and data parallelism
# takes what is left, with its all-reduce hidden as well as possible. `Grid` follows the same order:
# neighbors in a row have neighboring rank numbers.
#
# How slow may the columns' link be before it dominates the step? Try `step_seconds` with other
# links.
#
# Twelve GPUs have other layouts as well. With all columns on the Ethernet (`column=between`, rows
# `inside`), which number of stages, of 1, 2, 3, 4 and 6, gives the shortest step? Write that
# number.

# %%
mine = None
answer("L08-6", mine)

# %% [markdown]
# One more about groups: in a grid with `dp=4` and `pp=8`, how many ranks are in the group that
# averages gradients with rank 0, rank 0 included?

# %%
mine = None
answer("L08-7", mine)

# %% [markdown]
# What if a row does have to cross a slow link? Then the order of a pipeline can help. In this level
# a message takes as long as a forward, and each rank has room for five micro-batches, which is more
# than 1F1B uses. Find out by hand what the extra memory is good for.

# %%
from helpers.play import play

game = play("slow")
show(game.picture(), live=lambda: game)

# %% [markdown]
# ## What to remember
#
# - DP x PP is a grid. A row is a pipeline, a column holds the same layers, and every rank is in one
#   of each.
# - The stories are divided among the rows. The first and the last stage of a row read the same
#   ones.
# - The result is one device with the batch of all rows. If it's only nearly that, float64 tells
#   rounding from a bug.
# - In the cool-down the columns of the later stages average for free; only stage 0's all-reduce is
#   exposed.
# - Rows need low latency, columns need bandwidth or overlap.
#
# ## In the wild
#
# - **Llama 3 405B** ran on 16,384 H100 as TP 8 x PP 16 x DP 128, for 400 TFLOP/s a GPU, which is 41
#   % MFU ([2407.21783](https://arxiv.org/abs/2407.21783), table 4). With half the GPUs and DP 64 it
#   was 43 %.
# - **BLOOM 176B** used TP 4 x PP 12 x DP 8 on 384 A100
#   ([2211.05100](https://arxiv.org/abs/2211.05100), section 3.4).
# - **Megatron-LM** trained a model of a trillion parameters on 3,072 A100 with TP 8 and PP 64,
#   which leaves DP 6 ([2104.04473](https://arxiv.org/abs/2104.04473), table 1).
#
# To read: in Megatron-LM, `initialize_model_parallel` in `megatron/core/parallel_state.py` builds
# these groups. Its argument `order="tp-cp-ep-dp-pp"` puts replicas inside stages; with
# `--use-tp-pp-dp-mapping` stages are inside replicas, as in the layout you've just chosen. In
# torchtitan it's `ParallelDims.build_mesh` in `torchtitan/distributed/parallel_dims.py`. Look for
# the dimension that changes fastest.
#
# ## Where next
#
# The all-reduce of stage 0 is still exposed, and in plain data parallelism *every* all-reduce is.
# [Lesson 09](09_ddp.ipynb) sends gradients while backward is still computing the rest of them.
