# %% [markdown]
# # DP x PP: two pipelines, six ranks, one model
#
# **Needs:** two cores, no network. **Takes:** one minute.
#
# A model needs three devices, and you have six. You know two ways to use many devices: data
# parallelism and pipelines. Clusters use both at the same time.
#
# **Question.** Six ranks hold two copies of a model in three stages each. Who must talk to whom, so
# that all of them learn what one big device would learn?

# %%
# needs: primer/intro.py, DP/gradient_aggr/intro_DP_GA.py, DP_PP/intro_DP_PP.py
import sys

import torch

from helpers.draw import curves
from helpers.grade import check
from helpers.grid import Grid
from helpers.lesson import answer, predict, show, show_diff
from helpers.pipeline import Pace, run_paced
from helpers.ranks import find_place, launch
from helpers.schedules import BadSchedule, in_flight, parse
from helpers.simulate import simulate
from helpers.timeline import compare
from helpers.trace import with_waits
from simplellm.slicing import whole_name

# %%
sys.path[:0] = ["../primer", "../DP_PP"]
import intro
import intro_DP_PP

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## The grid
#
# Think of the ranks as a table. Each row is a **replica**: one whole model, as a pipeline. Each
# column holds the same stage, once in each replica.

# %%
grid = Grid(dp=2, pp=3)
print(grid)
for rank in range(grid.size):
    print(f"rank {rank}: pipeline {grid.group(rank, 'pp')}, same stage {grid.group(rank, 'dp')}")

# %%
predict(
    "Rank 1 has finished its backward. With whom does it average its gradients?",
    "with all six ranks",
    "with the ranks of its pipeline: 0 and 2",
    "with the rank that holds the same stage: 4",
)

# %% [markdown]
# Rank 0 and rank 1 hold different weights: their gradients have nothing to do with each other. Rank
# 1 and rank 4 hold the same weights, and have seen different stories. So the mean is taken over
# each column, in a process group of its own.
#
# ## From data parallelism to DP x PP
#
# Inside a row the work is a pipeline in the order of 1F1B. You know what that takes from lesson 06,
# so here `Pipeline` runs it, and the script is about who talks to whom: activations go along the
# row, gradients of weights along the column. Beside the script of lesson 03, this is what changes:

# %%
show_diff("DP/gradient_aggr/intro_DP_GA.py", "DP_PP/intro_DP_PP.py", context=1)

# %% [markdown]
# ## One device's loss
#
# Six ranks: two pipelines, three windows each. One device: a batch of the same six windows.

# %%
flags = ["--steps", "20", "--optimizer", "sgd", "--lr", "0.3"]
one = intro.read_flags([*flags, "--batch-size", "6", "--like-ranks", "2"])
alone, whole, _ = intro.train(one, say=lambda step, loss: None)


def train_rank(flags):
    options = intro_DP_PP.read_flags(flags)
    losses, stage, trace = intro_DP_PP.train(options, find_place(), "cpu", lambda *_: None)
    named = {whole_name(n, stage.first_layer): w for n, w in stage.state_dict().items()}
    return losses, named, trace


ranks = launch(train_rank, ranks=6, args=(flags,), quiet=True)

# %%
both = [sum(pair) / 2 for pair in zip(ranks[2][0], ranks[5][0], strict=True)]
show(curves({"one device": alone, "six ranks": both}))

# %%
weights = whole.state_dict()
for rank, (_, mine, _) in enumerate(ranks):
    far = max((mine[name] - weights[name]).abs().max().item() for name in mine)
    print(f"rank {rank}: largest difference from one device after 20 steps {far:.1e}")

# %% [markdown]
# The loss of one device, the weights of one device, on six ranks. Here is one of their steps:

# %%
trace = ranks[0][2].merged(*(trace for _, _, trace in ranks[1:]))
ends = [e.end for e in trace.events_of(0) if e.kind == "update"]
show(with_waits(trace).between(ends[9], ends[10]))

# %% [markdown]
# ## What travels, and how far
#
# A pipeline sends activations, between neighbours. Data parallelism sends gradients, between the
# ranks of a column.

# %%
predict(
    "A model of 7 billion weights in 4 stages, batches of 8 windows of 2048 tokens, dmodel 4096, "
    "numbers of 2 bytes. What is larger: all activations that a stage sends forward in a step, or "
    "the gradients of a stage?",
    "the activations",
    "the gradients",
)

# %%
activations = 8 * 2048 * 4096 * 2
gradients = 7e9 / 4 * 2
print(f"activations {activations / 1e9:.2f} GB, gradients {gradients / 1e9:.2f} GB")

# %% [markdown]
# The gradients are larger, but they travel once in a step, and may overlap with backward. The
# activations are on the way of every micro-batch, and a late one makes the next stage wait. Where
# the slow links of a cluster should lie is a question of both, and lesson 15 counts it.
#
# ## Your plan here
#
# A schedule is a text. Change it, and the lab tells you what it is worth. Each line is a rank;
# `F2` is the forward of micro-batch 2, `B2` its backward.

# %%
mine = """
rank 0: F0 F1 F2 B0 F3 B1 B2 B3
rank 1: F0 F1 B0 F2 B1 F3 B2 B3
rank 2: F0 B0 F1 B1 F2 B2 F3 B3
"""
plan = parse(mine)
plan

# %% [markdown]
# First it is proved: does every action find what it needs?

# %%
wrong = mine.replace("F0 B0 F1 B1", "B0 F0 F1 B1")
try:
    parse(wrong) and simulate(parse(wrong))
except BadSchedule as problem:
    print(problem)

# %% [markdown]
# Then it is simulated, and then it runs on three real processes. As in lesson 06, each stage sleeps
# until its time is over, so that two cores are enough.

# %%
pace = Pace(forward=0.03, input_grad=0.03, weight_grad=0.03)
predicted = simulate(plan, pace.costs())
measured = run_paced(plan, pace)
print(f"predicted {predicted.step_time:.3f} s, measured {measured.step_time:.3f} s")
print(f"bubble {predicted.bubble():.2f}, kept at most {in_flight(plan)}")
both_steps = compare(predicted.trace, measured.trace)
show(both_steps.picture(), live=lambda: both_steps)

# %% [markdown]
# ## What to remember
#
# - DP x PP is a grid. A row is a pipeline, a column holds the same stage.
# - Activations travel along the rows, gradients are averaged along the columns.
# - The result is one device with the batch of all pipelines.
# - A schedule is data: prove it, simulate it, run it, and lay the two pictures over each other.
#
# ## Exercises
#
# **1. Task DP-PP-1: average within each stage.**

# %%
check("DP-PP-1")

# %% [markdown]
# **2.** A grid with `dp=4` and `pp=8`. How many ranks are there in the group that averages with
# rank 0?

# %%
answer_2 = None
answer(answer_2, lambda: len(Grid(dp=4, pp=8).group(0, "dp")))

# %% [markdown]
# **3.** Let rank 0 of the plan above keep at most two micro-batches: `F0 F1 B0 F2 B1 F3 B2 B3`.
# Forward takes 1 s, backward 2 s. How long does a step take now? (`simulate(parse(…))` knows.)

# %%
answer_3 = None
less = mine.replace("F0 F1 F2 B0 F3 B1 B2 B3", "F0 F1 B0 F2 B1 F3 B2 B3")
answer(answer_3, lambda: simulate(parse(less)).step_time)
