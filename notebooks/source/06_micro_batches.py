# %% [markdown]
# # Micro-batches: GPipe and 1F1B fill the pipeline
#
# **Needs:** two cores, no network. **Takes:** two minutes.
#
# In a naive pipeline one device works and the others wait. But a batch is many windows of text. The
# first stage could begin with the second window while the second stage works on the first one.
#
# **Question.** Into how many pieces should we cut the batch, and in which order should each device
# work on them?

# %%
# needs: PP/naive/intro_PP_naive.py, PP/microbatches/intro_PP_microbatches.py
# needs: PP/1F1B/intro_PP_1F1B.py, primer/intro.py
import sys

import torch
import torch.distributed as dist

from helpers.draw import curves
from helpers.grade import check
from helpers.lesson import answer, predict, show, show_diff, show_orders
from helpers.pipeline import Pace, run_paced
from helpers.ranks import launch
from helpers.schedules import BadSchedule, gpipe, in_flight, naive, one_f_one_b
from helpers.simulate import simulate
from simplellm.losses import causalLLMLoss

# %%
sys.path[:0] = ["../primer"]
import intro

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## The mean of the parts is the whole
#
# A piece of a batch is called a **micro-batch**. Each micro-batch goes forward and backward alone,
# and autograd adds its gradients to those that are there already. Lesson 03 has shown it for
# devices: the mean over the parts is the mean over the batch. It does not matter whether the
# parts were on several devices at one time, or on one device one after the other.

# %%
options = intro.read_flags(["--batch-size", "4"])
tokenizer = intro.make_tokenizer(options)
torch.manual_seed(0)
net = intro.make_model(options, tokenizer)
ids = next(intro.stories_of_ranks(options, tokenizer, ranks=1))


def gradient(parts, divide_by):
    net.zero_grad()
    for part in parts:
        (causalLLMLoss(net(part), part, tokenizer.vocab_size) / divide_by).backward()
    return torch.cat([p.grad.flatten() for p in net.parameters()])


whole = gradient([ids], 1)
print(f"four micro-batches, / 4:   {(gradient(ids.chunk(4), 4) - whole).abs().max():.1e} away")
print(f"four micro-batches, added: {(gradient(ids.chunk(4), 1) - whole).abs().max():.1e} away")

# %% [markdown]
# Divide by the number of micro-batches. If you forget it, every gradient is four times too large,
# and Adam hides the mistake. One more condition: each micro-batch must have the same number of
# tokens that count. Where some are padding, weigh each micro-batch by its tokens.

# %%
parts = [ids[:1], ids[1:]]  # one window, and three windows
uneven = gradient(parts, 2)
net.zero_grad()
for part in parts:
    share = len(part) / len(ids)
    (causalLLMLoss(net(part), part, tokenizer.vocab_size) * share).backward()
weighed = torch.cat([p.grad.flatten() for p in net.parameters()])
print(f"the mean of two means:  {(uneven - whole).abs().max():.1e} away")
print(f"weighed by tokens:      {(weighed - whole).abs().max():.1e} away")

# %% [markdown]
# ## GPipe: all forward, then all backward
#
# A **schedule** says which rank computes what, in which order. In this lab a schedule is data: a
# list of actions for each rank. `F2` is the forward of micro-batch 2, `B2` its backward.

# %%
print(gpipe(4, 3))

# %%
predict(
    "Four stages, eight micro-batches. Backward takes twice as long as forward, and messages cost "
    "nothing. How much of the time does a rank wait?",
    "3/4, as in the naive pipeline",
    "3/11",
    "1/8",
)

# %%
show(simulate(gpipe(4, 8)).trace)

# %% [markdown]
# Three forwards pass before the last rank can begin, and three backwards after it has finished.
# In between it never waits. With `p` stages and `m` micro-batches the bubble is
# `(p - 1) / (m + p - 1)` of the time. More micro-batches, less bubble:

# %%
many = [1, 2, 4, 8, 16, 32, 64]
bubbles = {f"{p} stages": {m: simulate(gpipe(p, m)).bubble() for m in many} for p in (2, 4, 8)}
show(curves(bubbles, x="micro-batches", y="bubble, as a share of the time"))

# %% [markdown]
# ## The price is memory
#
# Backward needs what forward has computed. So each micro-batch must be kept from its forward until
# its backward.

# %%
predict(
    "GPipe with 4 stages and 8 micro-batches. How many micro-batches does rank 0 keep at most?",
    "1",
    "4",
    "8",
)

# %%
for schedule in (gpipe(4, 8), one_f_one_b(4, 8)):
    print(f"{schedule.name:6} keeps at most {in_flight(schedule)} micro-batches on ranks 0 to 3")

# %% [markdown]
# The second line is another order with the same number of micro-batches: **1F1B**, one forward, one
# backward. As soon as the first gradient comes back, each rank does a backward before it takes the
# next forward. So old micro-batches are freed before new ones come.

# %%
show(simulate(one_f_one_b(4, 8)).trace)

# %% [markdown]
# Compare the two pictures. The step takes the same time, 33 s. The bubble is the same. Only the
# memory is not: GPipe keeps all `m` micro-batches, 1F1B at most as many as there are stages.
#
# ## The deadlock of crossed sends
#
# In 1F1B a rank sends an activation to the next rank, while that rank sends a gradient back. Lesson
# 02 has shown what happens when two ranks both send first.

# %%
predict(
    "We run 1F1B with plain dist.send and dist.recv. What happens?",
    "it is slower, but it works",
    "the ranks wait for each other for ever",
    "some messages arrive in the wrong order",
)

# %%
from helpers.schedules import check as check_schedule

try:
    check_schedule(one_f_one_b(3, 4), blocking=True)
except BadSchedule as problem:
    print(problem)
    show(problem.picture())

# %% [markdown]
# A schedule is data, so it can be proved before it runs. And it is so:


# %%
def crossed():
    x = torch.zeros(4)
    neighbour = 1 - dist.get_rank()
    if dist.get_rank() == 0:
        dist.send(x, neighbour)  # the activation of the next micro-batch
        dist.recv(x, neighbour)
    else:
        dist.send(x, neighbour)  # the gradient of the one before
        dist.recv(x, neighbour)


report = launch(crossed, ranks=2, timeout=10, on_error="report", quiet=True)
report

# %% [markdown]
# The cure is in the report: start the sends with `dist.isend`, and wait for them later. That is
# what our script does.
#
# ## From one script to the next
#
# From the naive pipeline to GPipe:

# %%
show_diff("PP/naive/intro_PP_naive.py", "PP/microbatches/intro_PP_microbatches.py", context=1)

# %% [markdown]
# And from GPipe to 1F1B? The actions stay the same and only their order changes, so the difference
# is best seen in the plans themselves. Rank 0 runs four forwards ahead and then takes turns; each
# later rank runs one less ahead, and the last one takes turns from the start.

# %%
show_orders(gpipe(4, 8), one_f_one_b(4, 8))

# %% [markdown]
# ## Predicted, then measured
#
# Four ranks can't compute at once on two cores, so a trace of them would show your machine and not
# the schedule. But they can *sleep* at once. `run_paced` starts a real process for each rank and
# runs one step of the schedule on them; in place of computing, each stage sleeps until its time is
# over. The processes, the messages and the waiting are real.


# %%
pace = Pace(forward=0.04, input_grad=0.04, weight_grad=0.04)
for schedule in (naive(4), gpipe(4, 8), one_f_one_b(4, 8)):
    predicted, measured = simulate(schedule, pace.costs()), run_paced(schedule, pace)
    more = 100 * (measured.step_time / predicted.step_time - 1)
    print(f"{schedule.name:6} predicted {predicted.step_time:.3f} s, measured {more:+.1f} %")

# %%
from helpers.timeline import compare

both = compare(predicted.trace, measured.trace)
show(both.picture(), live=lambda: both)

# %% [markdown]
# Four processes ran the plan, and the measured step is within a few percent of the simulated one.
# So from here on we can use the simulator for machines we don't have.
#
# ## Try it
#
# With a running kernel this cell shows sliders: the schedule, the stages, the micro-batches, the
# times, the network and the memory. Point at an idle place, and it says why the rank waits there.
# When is the bubble of 1F1B below a tenth? What does a slow network change?

# %%
from helpers.timeline import explore

sliders = explore(schedule="1F1B", ranks=4, micro_batches=8)
show(sliders.picture(), live=lambda: sliders)

# %% [markdown]
# ## Waves
#
# What if memory allows three micro-batches only, and the batch should be larger? Let several
# **waves** go through before one update: the gradients of all waves are added up.
# `intro_PP_microbatches.py --waves 2` does it. It saves memory, and each wave has its own bubble.
#
# ## What to remember
#
# - A micro-batch is a piece of a batch. The mean of the gradients of all micro-batches is that of
#   the batch, if each is weighed by its tokens.
# - GPipe: all forward, then all backward. 1F1B: in turn, as soon as possible.
# - Both have the bubble `(p - 1) / (m + p - 1)`. More micro-batches, less bubble.
# - GPipe keeps `m` micro-batches. 1F1B keeps at most `p - rank` on each rank.
# - In 1F1B, sends cross. Plain sends wait for each other for ever: use `isend`.
#
# ## Exercises
#
# **1. Task PP-2: GPipe.**

# %%
check("PP-2")

# %% [markdown]
# **2. Task PP-3: 1F1B.**

# %%
check("PP-3")

# %% [markdown]
# Once it passes, look at what your 1F1B changed in the script of GPipe:

# %%
show_diff("PP/microbatches/intro_PP_microbatches.py", "PP/1F1B/intro_PP_1F1B.py", context=1)

# %% [markdown]
# **3.** Eight stages. How many micro-batches do you need at least, so that the bubble is at most
# one tenth of the time?

# %%
mine = None
answer(mine, lambda: next(m for m in range(1, 1000) if 7 / (m + 7) <= 0.1))

# %% [markdown]
# **4.** 1F1B with 8 stages and 32 micro-batches. How many micro-batches does rank 2 keep at most?

# %%
mine = None
answer(mine, lambda: in_flight(one_f_one_b(8, 32))[2])
