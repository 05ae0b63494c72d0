# %% [markdown]
# # Messages and deadlocks
#
# *Reading 25 minutes · tasks 25 · machine 1*
#
# *With twenty minutes: everything up to RC-2, and the section "Uneven data".*
#
# When Meta trained Llama 3 405B, something went wrong every three hours: 419 unexpected
# interruptions in 54 days, on 16,384 GPUs ([2407.21783](https://arxiv.org/abs/2407.21783), section
# 3.3.4). A crash is the friendly case, because it leaves an error message. The unfriendly case is
# silence. The loss stops printing, no rank reports an error, and every GPU claims to be busy,
# because a GPU that waits for a message looks just like one that works.
#
# To find out what such a job is waiting for, you need to know what processes can say to each other
# at all. They share no memory, not even on one machine, so messages are all they have. That's why,
# before we train anything on several devices, we'll break a few very small programs on purpose and
# learn to read the wreckage.
#
# **Question.** Which programs can hang, and how do you find out which rank is waiting for which?

# %%
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

from helpers.draw import collectives
from helpers.grade import check
from helpers.lesson import answer, claim, predict, reveal, show
from helpers.ranks import Place, launch

sys.path[:0] = ["../primer"]
import exchange

# %% [markdown]
# ## A rank
#
# A **rank** is one process among several that work together. Ranks are numbered from 0, and the
# **world size** is how many there are. All of them run the *same* program, and each one works out
# from its number which part of the job is its own. (The field calls this SPMD: single program,
# multiple data.)
#
# In this lab there are two ways to start ranks. `%%ranks 3` runs a cell on three of them. The cell
# knows `rank`, `world_size`, `torch` and `dist`, and shows the value of its last line.

# %%
# %load_ext helpers.ranks

# %%
# %%ranks 3
x = torch.arange(2) + 10 * rank  # the same line on every rank, but another x
x.tolist()

# %% [markdown]
# `launch(function, ranks=3)` runs a function on three ranks and returns a list: what the function
# returned on rank 0, on rank 1 and on rank 2.


# %%
def square():
    return dist.get_rank() ** 2


launch(square, ranks=3, quiet=True)

# %% [markdown]
# ## A message
#
# A message has two sides. One rank calls `dist.send(tensor, receiver)`, and the other calls
# `dist.recv(tensor, sender)`. The receiver has to bring a tensor of the right shape and type, its
# **buffer**, because what arrives is written straight into that memory.

# %%
# %%ranks 2
x = torch.full((3,), float(rank))  # rank 0 has zeros, rank 1 has ones
if rank == 1:
    dist.send(x, 0)
else:
    dist.recv(x, 1)
x.tolist()

# %% [markdown]
# Now both hold ones, because rank 0 received them into its `x`.
#
# ## A swap
#
# Now let both ranks have what the other one holds. The program looks as simple as it sounds: each
# rank sends its tensor and then receives.


# %%
def swap():
    mine, other = torch.ones(4), 1 - dist.get_rank()
    theirs = torch.empty(4)
    dist.send(mine, other)  # first I hand over mine …
    dist.recv(theirs, other)  # … then I take yours
    return theirs.tolist()


# %%
predict(
    "L02-1",
    "Two ranks run swap(). What happens?",
    "each gets the other's tensor",
    "neither gets past its first message",
    "it depends on which rank is faster",
)

# %% [markdown]
# (`on_error="report"` returns what went wrong as a value, so that the notebook can continue.)

# %%
display(launch(swap, ranks=2, timeout=10, on_error="report", quiet=True))
reveal("L02-1")

# %% [markdown]
# Read the report from the top. The first line says what happened, then each rank has a row with
# what it waits for and on which line, and the last line suggests a cure. In the picture an arrow
# means *waits for*: rank 0 waits for rank 1, and rank 1 waits for rank 0. A circle of arrows is a
# **deadlock**, and it never resolves, however long you wait.
#
# The reason is in the word *send*. With gloo, the library that carries our messages, `send` returns
# once the receiver has begun to take the data. Here both ranks stand in `send`, so neither is left
# to receive. Some libraries are kinder, and therefore more dangerous: many MPI implementations copy
# a small message into an internal buffer and return immediately (the *eager* protocol), but wait
# for the receiver when the message is large. There this program passes every test, until the day
# the model grows.
#
# Outside this lab, the program would hang until a time-out: 30 minutes with gloo, 10 with NCCL, the
# library for NVIDIA GPUs. The error then names neither the other rank nor the line. The lab notices
# that nothing has moved for about two seconds, collects from each rank what it is doing, and stops
# what can't move again.
#
# ## A cure
#
# Let rank 1 do the two things in the other order:


# %%
def swap_in_turns():
    mine, other = torch.ones(4) * dist.get_rank(), 1 - dist.get_rank()
    theirs = torch.empty(4)
    if dist.get_rank() == 0:
        dist.send(mine, other)
    dist.recv(theirs, other)
    if dist.get_rank() == 1:
        dist.send(mine, other)
    return theirs.tolist()


launch(swap_in_turns, ranks=2, quiet=True)

# %% [markdown]
# There are two more cures. `dist.isend` only *starts* to send and returns at once (the i is for
# *immediate*). It returns a handle, and until the handle's `wait()` has returned, the tensor must
# not change, because gloo reads it straight from your memory. And `dist.batch_isend_irecv` takes a
# list of sends and receives and starts them together.
#
# Let's scale the swap up. Five ranks sit in a ring, and each hands its tensor to its right
# neighbor. Even ranks send first and odd ranks receive first. But five is odd, so ranks 4 and 0 are
# neighbors *and* both even: rank 4 wants to send to rank 0 while rank 0 wants to send to rank 1.

# %%
predict(
    "L02-2",
    "Five ranks in a ring: even ranks send first, odd ranks receive first. Does every rank get "
    "a tensor?",
    "no: ranks 4 and 0 both send first, so the ring hangs",
    "only if the tensors are small",
    "yes: one odd rank is enough to break the circle",
)

# %% [markdown]
# ### Your turn: RC-2 · 25 minutes · 15 points
#
# Write `exchange_in_order()`, `exchange_without_waiting()` and `exchange_in_a_batch()` in
# `primer/exchange.py`. Each of them hands this rank's tensor to the right neighbor and returns the
# left neighbor's, for any number of ranks from two up, and each uses a different one of the three
# cures. `exchange_deadlock()`, in the same file, shows how not to do it.

# %%
check("RC-2")

# %% [markdown]
# Now your own functions answer the question. Each rank brings its number, so after the exchange
# rank 0 should hold a 4, rank 1 a 0, and so on.


# %%
def around(way):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    return int(way(torch.full((1,), float(rank)), rank, ranks).item())


for name, way in exchange.ways().items():
    if name != "deadlock":
        print(f"{name:8}", launch(around, ranks=5, args=(way,), quiet=True))
reveal("L02-2")

# %% [markdown]
# ## Uneven data
#
# Most hangs in training have no circle at all. Three ranks train, and after each batch they add up
# their gradients with `dist.all_reduce`. This is a **collective** operation: *every* rank has to
# call it, and every rank equally often.


# %%
def train():
    batches = [3, 3, 2][dist.get_rank()]  # the data set has 8 batches
    for _ in range(batches):
        gradient = torch.ones(5)
        dist.all_reduce(gradient)
    return "done"


# %%
predict(
    "L02-3",
    "Ranks 0 and 1 have three batches and rank 2 has two. What happens in the third round?",
    "ranks 0 and 1 never return from all_reduce",
    "all_reduce adds up the two gradients that there are",
    "rank 2 stops with an error",
)

# %%
display(launch(train, ranks=3, timeout=10, on_error="report", quiet=True))
reveal("L02-3")

# %% [markdown]
# The words *for the 3rd time* tell you which batch it was. One cure is to give every rank the same
# number of batches and drop the rest. Another lets a rank that has run out of data take part with a
# gradient of zeros. Then be careful with the mean: dividing by 3 when only 2 ranks had data makes
# it a third too small, so divide by the number of ranks (or better, of tokens) that contributed.
# PyTorch packages this second cure as
# [`Join`](https://docs.pytorch.org/docs/stable/distributed.algorithms.join.html).
#
# ## Buffers of another size
#
# So far, what went wrong at least came to a stop. Now rank 0 sends three numbers, and rank 1 brings
# a buffer for five, filled with -1. The lab usually compares both sides before a message starts,
# and we switch that off with `checked=False` to see what a plain PyTorch program would do.

# %%
predict(
    "L02-4",
    "What does rank 1 find in its buffer of five numbers?",
    "nothing, because PyTorch raises an error: three numbers aren't five",
    "nothing, because it waits for two more numbers",
    "three numbers from rank 0, and two that were there before",
)


# %%
def too_large():
    if dist.get_rank() == 0:
        dist.send(torch.tensor([7.0, 8.0, 9.0]), 1)
        return None
    buffer = torch.full((5,), -1.0)
    dist.recv(buffer, 0)
    return buffer.tolist()


print("rank 1 holds", launch(too_large, ranks=2, quiet=True, checked=False)[1])
reveal("L02-4")

# %% [markdown]
# A program that continues with wrong numbers is worse than one that hangs, because nothing stops
# it. The wrong *type* is just as quiet. Here rank 1 reads the bits of floating-point numbers as
# integers, and 1.0 becomes 1,065,353,216:

# %%
# %%ranks 2 --unchecked
x = torch.tensor([1.0, 2.0, 3.0]) if rank == 0 else torch.zeros(3, dtype=torch.int32)
if rank == 0:
    dist.send(x, 1)
else:
    dist.recv(x, 0)
x.tolist()

# %% [markdown]
# This is why ranks in this lab compare notes before each operation, unless you say `checked=False`.
# The comparison costs a fraction of a millisecond for each message, so the scripts leave it out by
# default, and the measurements of later lessons switch it off.

# %%
launch(too_large, ranks=2, timeout=10, on_error="report", quiet=True)


# %% [markdown]
# It works for collectives too. Here one rank took the other branch of an `if`, so it calls a
# different collective from the rest:


# %% tags=["time"]
def two_branches():
    x = torch.ones(3)
    if dist.get_rank() == 1:
        dist.broadcast(x, src=1)
    else:
        dist.all_reduce(x)


launch(two_branches, ranks=3, timeout=10, on_error="report", quiet=True)

# %% [markdown]
# ## The collectives
#
# You could build everything from `send` and `recv`, but a handful of patterns come up so often that
# every library has them, under the same names. Draw what the ranks hold as a matrix, with a row for
# each rank and a column for each part of the tensor, and each collective is one move. In four of
# them, one rank is special. It's called the **root**, here rank 0:

# %%
show(collectives(["broadcast", "scatter", "gather", "reduce"]))

# %% [markdown]
# A column is a place in the whole tensor, so after the scatter rank 1 holds the middle third. Σ is
# the sum over all ranks.
#
# The collectives that carry a training run have no root: every rank contributes, and every rank
# receives.

# %%
predict(
    "L02-5",
    "Reduce-scatter adds up the tensors of all ranks and leaves each rank with one part of the "
    "sum. The ranks hold [0, 1, 2], [10, 11, 12] and [20, 21, 22]. What does rank 1 get?",
    "[11]",
    "[33]",
    "[30, 33, 36]",
)


# %%
def without_a_root():
    x = torch.arange(3) + 10 * dist.get_rank()
    everything, part, parts = x.clone(), torch.zeros(1, dtype=x.dtype), torch.zeros_like(x)
    dist.all_reduce(everything)
    dist.reduce_scatter_tensor(part, x)
    dist.all_gather_into_tensor(parts, part)
    return everything.tolist(), part.tolist(), parts.tolist()


for rank, (everything, part, parts) in enumerate(launch(without_a_root, ranks=3, quiet=True)):
    print(f"rank {rank}: all-reduce {everything}, reduce-scatter {part}, then all-gather {parts}")
reveal("L02-5")

# %%
show(collectives(["reduce-scatter", "all-gather", "all-reduce"]))

# %% [markdown]
# Look at the printed lines once more. The program gathered the parts that the reduce-scatter had
# left, and ended up with what all-reduce returns. That's no accident: in the picture, put the
# second matrix right after the first one. **An all-reduce is a reduce-scatter followed by an
# all-gather.** Lesson 03 builds it this way, and sharding (lesson 11) saves memory by calling the
# two halves at different times. One more, all-to-all, in which every rank has a different message
# for every other rank, waits for the experts in lesson 14.
#
# ## Who carries the messages
#
# `torch.distributed` doesn't carry messages itself; it hands them to a **backend**. **gloo** works
# between processors on any computer. **NCCL** works between NVIDIA GPUs, is far faster, and needs a
# separate GPU for each rank. The lab chooses for you, and prints its reason:

# %%
from helpers.ranks.connect import choose_backend

for gpus, ranks in ((0, 3), (1, 3), (8, 8)):
    choice = choose_backend("auto", Place(0, ranks, 0, ranks), gpus, nccl=True)
    print(f"GPUs: {gpus}, ranks: {ranks}: {choice.backend}, because {choice.why}")

# %% [markdown]
# Three things change on GPUs, and each of them is a source of hangs:
#
# - **Calls return at once.** They only enqueue work on a **stream**, a queue that the GPU works
#   through in order. A rank can therefore be stuck in a collective while its Python code is already
#   a few layers further on. The hang shows up where Python first needs a result, for example in
#   `loss.item()`, and that line is innocent.
# - **Order matters even more.** If one rank enqueues two collectives in a different order, the GPUs
#   deadlock.
# - **There are no tags.** With gloo, `tag=1` and `tag=2` tell two messages apart. NCCL matches the
#   messages between two ranks in the order in which they were enqueued, and sends and receives that
#   have to run at the same time belong in one `batch_isend_irecv`.
#
# ## Outside the lab
#
# On a cluster, nothing watches your ranks for you. These tools do, in the order in which you'd
# reach for them:
#
# - `py-spy dump --pid PID` prints the Python stack of a running process without stopping it. Run it
#   on a few ranks: the odd one out is usually the culprit.
# - `init_process_group(timeout=timedelta(minutes=2))` says nothing about the cause, but you learn
#   of the hang after two minutes.
# - `TORCH_DISTRIBUTED_DEBUG=DETAIL` compares collectives across ranks (operation, shape, type) and
#   raises an error when they don't match. It's slow, so set it to find a bug and then remove it.
#   Plain messages aren't compared.
# - `dist.monitored_barrier(wait_all_ranks=True)` names the ranks that didn't arrive (gloo only).
# - The **flight recorder**: with `TORCH_FR_BUFFER_SIZE=20000` and `TORCH_NCCL_DUMP_ON_TIMEOUT=1`,
#   each rank remembers its last collectives and writes them to a file when the time-out strikes.
#   The command `torchfrtrace` compares these files and names the first collective in which the
#   ranks differ.
#
# The monitored barrier is easy to try. Rank 2 skips it, as a rank would if it had taken another
# branch or died:


# %%
def roll_call():
    if dist.get_rank() == 2:
        return "somewhere else"
    try:
        dist.monitored_barrier(timeout=timedelta(seconds=1), wait_all_ranks=True)
    except RuntimeError as error:
        return str(error)


said = launch(roll_call, ranks=3, quiet=True, checked=False)[0]
claim.same(f"rank 0 says: {said}", "Ranks 2 failed" in said)

# %% [markdown]
# What does patience cost? A collective hangs in a job on 16,384 GPUs, with NCCL's default time-out.
# How many GPU-hours go by before the first error message?

# %%
mine = None
answer("L02-6", mine)

# %% [markdown]
# ## What to remember
#
# - All ranks run the same program, share nothing, and talk in messages.
# - A send waits for its receive. If all ranks send first, all of them wait. Let one receive first,
#   start the sends without waiting, or give both to one batch.
# - Every rank has to call every collective, in the same order and equally often. If one is missing,
#   the others wait for it.
# - To explain a hang, ask every rank what it waits for. Either the arrows form a circle, or they
#   lead to a rank that has already left.
# - A buffer of the wrong size or type leads to wrong numbers without an error, unless the ranks
#   compare notes.
# - An all-reduce is a reduce-scatter followed by an all-gather.
#
# ## In the wild
#
# - Llama 3 405B: 466 interruptions in 54 days, 419 of them unexpected, and still more than 90 %
#   effective training time. The authors name PyTorch's NCCL flight recorder as what lets them
#   diagnose hangs at that scale ([2407.21783](https://arxiv.org/abs/2407.21783), section 3.3.4).
# - torchtitan doesn't wait for PyTorch's defaults: by default it allows 300 s for start-up, 100 s
#   once the first step is through, and records the last 20,000 collectives of every rank ([its
#   options](https://github.com/pytorch/torchtitan/blob/0014ac2ca45ae15db6706b4f5cc3e67546c98885/torchtitan/config/configs.py),
#   class `CommConfig`).
# - Read `init_distributed` and `set_pg_timeouts` in torchtitan's `torchtitan/distributed/utils.py`.
#   The first sets the environment variables of the list above. The second starts with a barrier:
#   why would a *shorter* time-out be dangerous without it?
#
# ## Where next
#
# [Lesson 03](03_data_parallel_gradients.ipynb) puts the first collective to work: many devices
# average their gradients, and we find out what that costs.
