# %% [markdown]
# # Messages and deadlocks
#
# *Reading 35 minutes, tasks 25*
#
# *With twenty minutes: everything up to RC-2, and the section "Uneven data".*
#
# On 16,384 GPUs something goes wrong every three hours. A crash is the friendly case, because it
# leaves an error message. The unfriendly case is silence. The loss stops printing, no rank reports
# an error, and every GPU claims to be busy, because a kernel that waits for a message counts as
# work.
#
# To find out what such a job is waiting for, you need to know what processes can say to each other
# at all. They share no memory, not even on one machine, so messages are all they have. So before we
# train anything on several devices, we'll break a few very small programs on purpose and learn to
# read the wreckage.
#
# **Question.** Which programs can hang, and how do you find out which rank waits for which?

# %%
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

from helpers.check import check, solve
from helpers.lesson import predict, reveal
from helpers.ranks import launch

sys.path[:0] = ["../primer"]
import exchange

# %% [markdown]
# ## A rank
#
# All ranks of a job run the *same* program, and each one works out from its number which part of
# the job is its own. (The field calls this SPMD: single program, multiple data.) A cell that starts
# with `%%ranks 3` is such a program. It knows `rank`, `world_size`, `torch` and `dist`, and shows
# the value of its last line on each rank.

# %%
# %load_ext helpers.ranks

# %%
# %%ranks 3
x = torch.arange(2) + 10 * rank  # the same line on every rank, but another x
x.tolist()

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
# Now let the two ranks swap tensors: each rank sends its own and then receives the other's. (Below,
# `on_error="report"` returns what went wrong as a value, so that the notebook can continue.)


# %%
def swap():
    mine, other = torch.ones(4), 1 - dist.get_rank()
    theirs = torch.empty(4)
    dist.send(mine, other)  # first I hand over mine …
    dist.recv(theirs, other)  # … then I take yours
    return theirs.tolist()


# %% jupyter={"source_hidden": true}
predict(
    "ranks_and_collectives-1",
    "Two ranks run swap(). What happens?",
    "each gets the other's tensor",
    "neither gets past its first message",
    "it depends on which rank is faster",
)

# %% jupyter={"source_hidden": true}
display(launch(swap, ranks=2, timeout=10, on_error="report", quiet=True))
reveal("ranks_and_collectives-1")

# %% [markdown]
# Read the report from the top. The first line says what happened, then each rank has a row with
# what it waits for and on which line, and the last line suggests a cure. In the picture an arrow
# means *waits for*. A circle of arrows is a **deadlock**, which no amount of waiting resolves.
#
# The reason is in the word *send*. With gloo, the library that carries our messages, `send` returns
# once the receiver has begun to take the data. Here both ranks are blocked in `send`, so neither is
# left to receive. Some libraries are kinder, and therefore more dangerous: many MPI implementations
# copy a small message into an internal buffer and return immediately (the *eager* protocol), but
# wait for the receiver when the message is large. There this program passes every test, until the
# day the model grows.
#
# In plain PyTorch this program hangs for 30 minutes, gloo's time-out. Then the ranks raise errors
# such as *Timed out waiting 1800000ms for send operation to complete*, each with its own line and
# without a word about the other rank, and you'd have to piece the circle together yourself from the
# logs of all ranks. The lab notices that nothing has moved for about two seconds, collects from
# each rank what it is doing, and stops the ranks that can't go on.
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
# Now a send always meets a receive. There are two more cures. `dist.isend` only *starts* to send
# and immediately returns a handle (that's the i). Don't touch the tensor until the handle's
# `wait()` has returned: gloo reads it straight from your memory. And `dist.batch_isend_irecv` takes
# a list of sends and receives and starts them together.
#
# Let's scale the swap up. Five ranks sit in a ring, and each hands its tensor to its right
# neighbor. Even ranks send first and odd ranks receive first. But five is odd, so ranks 4 and 0 are
# neighbors *and* both even: rank 4 wants to send to rank 0 while rank 0 wants to send to rank 1.

# %% jupyter={"source_hidden": true}
predict(
    "ranks_and_collectives-2",
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
# left neighbor's, for any number of ranks from two up, and each uses another of the three cures.

# %%
check("RC-2")

# %% [markdown]
# Now run your own functions; `exchange_in_order` answers the question. Each rank brings its number,
# so after the exchange rank 0 should hold a 4, rank 1 a 0, and so on.


# %%
def around(way):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    return int(way(torch.full((1,), float(rank)), rank, ranks).item())


for name, way in exchange.WAYS.items():
    if name != "deadlock":
        print(f"{name:8}", launch(around, ranks=5, args=(way,), quiet=True))
reveal("ranks_and_collectives-2")

# %% [markdown]
# A **space-time diagram** shows why the odd ring ends. Time runs to the right, and an arrow is a
# message, which begins only when its send and its receive are both there. Follow rank 4: it waits
# for rank 0, but rank 0 waits for nobody. The odd ring takes one round more than the even one.
#
# ![Four ranks: two rounds of messages. Five: rank 4 waits for one round to send to rank 0, rank 3
# for one to send to rank 4, and a third round ends it.](../imgs/ring_in_time.svg)
#
# ## Uneven data
#
# Many hangs in training have no circle at all. Three ranks train, and after each batch they add up
# their gradients with `dist.all_reduce`. This is a **collective** operation: *every* rank of the
# group has to call it, and every rank the same number of times. (Here the group is all ranks, as it
# is unless you name another. From lesson 08 on there are smaller groups.)


# %%
def train():
    batches = [3, 3, 2][dist.get_rank()]  # the data set has 8 batches
    for _ in range(batches):
        gradient = torch.ones(5)
        dist.all_reduce(gradient)
    return "done"


# %% jupyter={"source_hidden": true}
predict(
    "ranks_and_collectives-3",
    "Ranks 0 and 1 have three batches and rank 2 has two. What happens in the third round?",
    "ranks 0 and 1 wait in all_reduce for rank 2",
    "all_reduce adds up the two gradients it has received",
    "rank 2 stops with an error",
)

# %% jupyter={"source_hidden": true}
display(launch(train, ranks=3, timeout=10, on_error="report", quiet=True))
reveal("ranks_and_collectives-3")

# %% [markdown]
# The words *for the 3rd time* tell you which batch it was. In plain PyTorch the two ranks wait
# until the time-out if rank 2 stays alive, for example because it goes on to evaluate the model. If
# its process ends, its connections close, and gloo tells the others: *Connection closed by peer
# […]. This is typically caused by a remote worker crashing.* No worker has crashed; one was out of
# data.
#
# One cure is to give every rank the same number of batches. PyTorch's `DistributedSampler` does so
# by repeating a few samples (which then count twice) or, with `drop_last=True`, by dropping a few.
# Another cure lets a rank that has run out of data take part with a gradient of zeros. Then be
# careful with the mean: dividing by 3 when only 2 ranks had data makes the mean a third too small,
# so divide by the number of ranks (or better, of tokens) that contributed. PyTorch's
# [`Join`](https://docs.pytorch.org/docs/stable/distributed.algorithms.join.html) packages this, but
# with DDP it makes that mistake unless you give `divide_by_initial_world_size=False`.
#
# ## The same calls, in another order
#
# Equally often isn't enough. Rank 0 holds `a` = 1 and `b` = 10, and rank 1 holds `a` = 2 and `b` =
# 20, so the sums should be 3 and 30. But rank 1 adds up `b` first. That's easier to do than it
# looks: two threads are enough, or a loop over a `set`.


# %%
def sums():
    rank = dist.get_rank()
    a, b = torch.tensor([1.0 + rank]), torch.tensor([10.0 + 10 * rank])
    for x in (a, b) if rank == 0 else (b, a):
        dist.all_reduce(x)
    return a.item(), b.item()


# %% jupyter={"source_hidden": true}
predict(
    "ranks_and_collectives-7",
    "Rank 0 calls all_reduce for a and then for b, and rank 1 for b and then for a. What does rank "
    "0 hold?",
    "a = 3 and b = 30: each tensor finds its counterpart",
    "a = 21 and b = 12: the first calls meet, and then the second ones",
    "a = 1 and b = 10, as before: the two ranks wait for each other",
)

# %% jupyter={"source_hidden": true}
for rank, (a, b) in enumerate(launch(sums, ranks=2, quiet=True)):
    print(f"rank {rank}: a = {a:g}, b = {b:g}")
reveal("ranks_and_collectives-7")

# %% [markdown]
# No error and no hang. A collective doesn't know the names of your variables: the first call of one
# rank meets the first call of the other. With threads or sets the order may even change from run to
# run, so that the mistake comes and goes. And ranks that compare notes, as ours do, just see two
# all-reduces of one float and find nothing wrong. So whatever decides the order of your collectives
# has to be the same on every rank.
#
# ## Buffers of another size
#
# Messages can go wrong in silence, too. Rank 0 sends three numbers, and rank 1 brings a buffer for
# five, filled with -1. The lab usually compares both sides before a message starts, so we switch
# that off with `checked=False` and see what a plain PyTorch program would do.

# %% jupyter={"source_hidden": true}
predict(
    "ranks_and_collectives-4",
    "What does rank 1 find in its buffer of five numbers?",
    "nothing, because PyTorch raises an error: three numbers aren't five",
    "nothing, because it waits for two more numbers",
    "three numbers from rank 0, and two that were there before",
)


# %%
def receive_into(buffer):
    if dist.get_rank() == 0:
        dist.send(torch.tensor([7.0, 8.0, 9.0]), 1)
        return None
    dist.recv(buffer, 0)
    return buffer.tolist()


too_large, of_integers = torch.full((5,), -1.0), torch.zeros(3, dtype=torch.int32)
print("rank 1 holds", launch(receive_into, 2, (too_large,), quiet=True, checked=False)[1])
reveal("ranks_and_collectives-4")

# %% [markdown]
# A program that continues with wrong numbers is worse than one that hangs, because nothing stops
# it. The wrong *type* is just as quiet. Here rank 1 takes the bits of three floats for integers:

# %%
print("rank 1 holds", launch(receive_into, 2, (of_integers,), quiet=True, checked=False)[1])

# %% [markdown]
# This is why, in the lessons, ranks compare notes before each message. That costs time, so scripts
# and measurements go without it. With the comparison on, both programs stop with an error:

# %% tags=["time"]
for buffer in (too_large, of_integers):
    print(launch(receive_into, 2, (buffer,), timeout=10, on_error="report", quiet=True), "\n")


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
# they have names, nearly the same ones in MPI, NCCL and PyTorch. (JAX calls an all-reduce `psum`.)
# Draw what the ranks hold as a matrix: a row for each rank, and a column for each part of the
# tensor. Each collective is then one move. In four of them one rank, the **root**, is special (here
# it's rank 0):
#
# ![What each of three ranks holds before and after. Broadcast: rank 0's tensor a0 a1 a2, for all.
# Scatter: a part of it for each. Gather: a, b and c of the three ranks, all for rank 0. Reduce: the
# sums Σ0 Σ1 Σ2, for rank 0.](../imgs/collectives_with_a_root.svg)
#
# A column is a place in the whole tensor, so after the scatter rank 1 holds the middle third. Σ is
# the sum over all ranks.
#
# The collectives that carry a training run have no root: every rank contributes, and every rank
# receives.


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

# %% [markdown]
# ![Three ranks that hold a0 a1 a2, b0 b1 b2 and c0 c1 c2. Reduce-scatter: rank 0 has Σ0, rank 1 Σ1,
# rank 2 Σ2. All-gather: from a, b and c, one on each rank, all three for all. All-reduce: Σ0 Σ1 Σ2
# for all.](../imgs/collectives.svg)
#
# Look at the printed lines once more. The program gathered the parts that the reduce-scatter had
# left, and ended up with what all-reduce returns. That's no accident: the picture of all-gather
# begins where that of reduce-scatter ends (read Σ0, Σ1 and Σ2 for a, b and c). **An all-reduce is a
# reduce-scatter followed by an all-gather.** Lesson 03 builds it this way, and sharding (lesson 13)
# saves memory by calling the two halves at different times. One more, all-to-all, in which every
# rank has a different message for every other rank, waits for the experts in lesson 16.
#
# ## Who carries the messages
#
# `torch.distributed` doesn't carry messages itself; it hands them to a **backend**. **gloo** works
# between CPUs, on one machine or many. **NCCL** works between NVIDIA GPUs, is far faster, and by
# default needs a separate GPU for each rank. The lessons use gloo. The scripts use NCCL if each
# rank has a GPU, and otherwise gloo and the CPU.
#
# Three things change on GPUs, and each of them is a source of hangs:
#
# - **Calls return at once.** They only enqueue work on a **stream**, so the Python code of a rank
#   that is stuck in a collective may be a few layers further on. It stops at the first line that
#   needs a result, such as `loss.item()`, and that line is innocent.
# - **Order matters even more.** Two collectives that differ in kind, size or group, enqueued in
#   another order by one rank, can deadlock the GPUs: each runs a kernel that waits for its peer and
#   holds up the one that the peer waits for. Two that look alike don't hang: their sums are wrong.
# - **Tags don't count.** NCCL matches the messages between two ranks in the order in which they
#   were enqueued, and those that have to run at the same time belong in one `batch_isend_irecv`.
#
# ## Outside the lab
#
# On a cluster nobody draws the arrows for you. With gloo all you get is a time-out. With NCCL each
# rank's message at least names the collective that it was in and its number, as in
# `SeqNum=680, OpType=ALLREDUCE`: look for the rank with another number. Five tools tell more:
#
# | tool | what it tells you |
# |---|---|
# | the **flight recorder** (NCCL only) | the last 2,000 collectives of each rank, at the time-out |
# | `py-spy dump --pid PID` | the Python stack of a running process, without ending it |
# | `init_process_group(timeout=timedelta(minutes=2))` | not the cause, but after two minutes |
# | `TORCH_DISTRIBUTED_DEBUG=DETAIL` | an error if a collective's operation, shape or type differ |
# | `dist.monitored_barrier(wait_all_ranks=True)` (gloo only) | which ranks didn't arrive |
#
# **Which one do you take?** (a) A job hangs right now, and nobody has prepared anything. (b) A job
# on GPUs hung last night, and it has ended. (c) A small copy of the job hangs every time, and you
# suspect that one rank calls another collective. (d) The loss is wrong, and you suspect two
# all-reduces of one size, swapped.
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
print(f"rank 0 says: {said}")

# %% [markdown]
# (a) `py-spy`, on a few ranks: the odd one out is usually the culprit. (b) The flight recorder (old
# versions need `TORCH_NCCL_TRACE_BUFFER_SIZE`): `torchfrtrace` names the first collective in which
# its files differ. (c) `DETAIL`, for this run only, since it's slow (and blind to `send` and
# `recv`). (d) None: nothing hangs or is told. Compare the sums with those of one device.
#
# What does patience cost? On 16,384 GPUs, NCCL's default time-out of 10 minutes lets 2,731 hours of
# a GPU go by before the first error message: 5,500 dollars at two dollars an hour.
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - All ranks run the same program, share no memory, and talk in messages.
# - Don't count on `send` returning before the other side receives: with gloo it waits until the
#   receiver takes the data. If all ranks send first, all of them wait. Let one receive first, start
#   the sends without waiting, or put the send and the receive into one batch.
# - All ranks of a group have to call its collectives the same number of times and in the same
#   order. If a call is missing, the others wait for it. If two that look alike are swapped, the
#   sums are wrong and nothing tells you.
# - To explain a hang, ask every rank what it waits for. Either the arrows form a circle, or they
#   lead to a rank that isn't waiting for anyone: it has left, or it's busy with something else.
# - A buffer that is too large or of the wrong type leads to wrong numbers without an error, unless
#   the ranks compare notes. (One that is too small kills the process.)
# - An all-reduce is a reduce-scatter followed by an all-gather.
#
# ## In the wild
#
# - The authors of Llama 3 405B used PyTorch's NCCL flight recorder to diagnose hangs on 16,384 GPUs
#   ([2407.21783](https://arxiv.org/abs/2407.21783), section 3.3.4).
# - torchtitan doesn't wait for PyTorch's defaults: by default it allows 300 s for start-up, 100 s
#   once the first step is through, and records the last 20,000 collectives of every rank
#   ([its options](https://github.com/pytorch/torchtitan/blob/0014ac2ca45ae15db6706b4f5cc3e67546c98885/torchtitan/config/configs.py),
#   class `CommConfig`). Read `set_pg_timeouts` in its `torchtitan/distributed/utils.py`, which
#   starts with a barrier: why would a *shorter* time-out be dangerous without it? (What if one rank
#   is already in the next collective, while another still loads its data?)
#
# ## Where next
#
# [Lesson 03](03_data_parallel_gradients.ipynb) puts the first collective to work: many devices
# average their gradients, and we find out what that costs.
