# %% [markdown]
# # Averaging gradients
#
# *Reading 50 minutes, tasks 55*
#
# *With twenty minutes: to "Training on three ranks", then "When does sending cost more …?"*
#
# The oldest way to divide a training run is still part of nearly every large one: give each device,
# or each group of devices, a copy of the model, a **replica**, and let each copy read a different
# part of the text. This is **data parallelism**.
#
# But replicas that read different texts compute different gradients. Left alone, they would drift
# apart: a thousand devices would train a thousand models, each on a thousandth of the text.
#
# **Question.** What must the devices tell each other, so that many of them learn exactly what one
# big device would learn? And when does telling it take longer than computing it?

# %%
import sys
import time

import torch
import torch.distributed as dist

from helpers.check import check, solve
from helpers.draw import curves, ring
from helpers.lesson import claim, predict, reveal, show, show_code, show_diff, vary
from helpers.network import Link, fit, slow_link
from helpers.ranks import find_place, launch
from helpers.trace import last_steps, with_waits
from simplellm.losses import causalLLMLoss
from simplellm.options import make_stories

# %%
sys.path[:0] = ["../primer", "../DP/gradient_aggr"]
import intro
import intro_DP_GA

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## Three ranks, one mean
#
# Three ranks build the same model from the same seed and read different stories, as in lesson 00.
# Each computes the gradient of the loss on its own sequence. If each took a step along its own,
# there would be three different models. So they agree on the **mean**: an all-reduce (lesson 02)
# leaves the sum on every rank, and each rank divides it by the number of ranks.

# %%
options = intro.read_flags(["--batch-size", "1"])


def own_and_mean():
    tokenizer = intro.make_tokenizer(options)
    torch.manual_seed(0)
    net = intro.make_model(options, tokenizer)
    ids = next(iter(make_stories(options, tokenizer, dist.get_rank(), 3)))
    causalLLMLoss(net(ids), ids, tokenizer.vocab_size).backward()
    own = torch.cat([p.grad.flatten() for p in net.parameters()])
    mean = own.clone()
    dist.all_reduce(mean)
    return own, mean / dist.get_world_size()


# %% jupyter={"source_hidden": true}
own, parallel = zip(*launch(own_and_mean, ranks=3, quiet=True), strict=True)
for rank, gradient in enumerate(own):
    print(f"rank {rank}: its last gradients", *(f"{g:.1e}" for g in gradient[-3:]))

# %% jupyter={"source_hidden": true}
whole = intro.read_flags(["--batch-size", "3"])
tokenizer = intro.make_tokenizer(whole)
torch.manual_seed(0)
net = intro.make_model(whole, tokenizer)
ids = next(intro.stories_of_ranks(whole, tokenizer, ranks=3))

# %%
causalLLMLoss(net(ids), ids, tokenizer.vocab_size).backward()
one_device = torch.cat([p.grad.flatten() for p in net.parameters()])
far = max((gradient - one_device).abs().max().item() for gradient in parallel)

# %% jupyter={"source_hidden": true}
print(f"largest gradient {one_device.abs().max().item():.1e}, largest difference {far:.1e}")

# %% [markdown]
# The loss of the batch is the mean of the ranks' losses, since each has the same number of tokens
# (lesson 01), and taking gradients is linear, so the same holds for the gradients:
#
# $$L = \frac1n\sum_{r}L_r \qquad\Longrightarrow\qquad \nabla L = \frac1n\sum_{r}\nabla L_r .$$
#
# That's the whole theory of data parallelism. Each rank needs one thing from the others, the **mean
# of all gradients**, and then every rank takes the same step from the same weights.
#
# ![Each of three ranks reads its own text with the same weights w, computes F and B, and has its
# own gradient. The all-reduce gives every rank the mean g of the three gradients, and each takes
# the same step, from w to w minus the learning rate times g.](../imgs/replicas.svg)
#
# No weights are sent in this lesson: one seed gives all replicas the same weights, an all-reduce
# leaves the same bits on every rank, and so every step is the same on all of them. So a batch of
# one sequence on each of three ranks *is* a batch of three. What counts for learning is the
# **global batch**: ranks × sequences per rank.
#
# The **gradient accumulation** of lesson 01 is the same mean, spread over time instead of over
# devices: one device runs the sequences one after the other, and `backward()` adds to `.grad`.

# %%
net.zero_grad()
for sequence in ids.split(1):
    (causalLLMLoss(net(sequence), sequence, tokenizer.vocab_size) / 3).backward()
accumulated = torch.cat([p.grad.flatten() for p in net.parameters()])
apart = (accumulated - one_device).abs().max().item()
off = max(far, apart)
print(f"largest difference, on three ranks or accumulated: {off:.1e}")
assert off < 1e-6

# %% [markdown]
# Large runs do both. Each rank accumulates over several **micro-batches** and then averages once
# with the others. If each of four ranks holds two sequences of 128 tokens at a time and accumulates
# over eight micro-batches, one optimizer step sees 4 · 2 · 128 · 8 = 8,192 tokens.
#
# ## The sum instead of the mean
#
# It's easy to forget the division and use the sum instead of the mean. Whether you'd notice depends
# on the optimizer.

# %% jupyter={"source_hidden": true}
predict(
    "data_parallel_gradients-3",
    "Every gradient is three times too large. How far does one step move the weights away from "
    "where they should be, with SGD and with Adam?",
    "far with both",
    "far with SGD, hardly at all with Adam",
    "far with Adam, hardly at all with SGD",
)


# %%
def weights_after_a_step(make_optimizer, factor):
    torch.manual_seed(0)
    net = intro.make_model(whole, tokenizer)
    causalLLMLoss(net(ids), ids, tokenizer.vocab_size).backward()
    for p in net.parameters():
        p.grad *= factor
    make_optimizer(net.parameters()).step()
    return torch.cat([p.detach().flatten() for p in net.parameters()])


# %%
for name, make in (
    ("SGD", lambda p: torch.optim.SGD(p, lr=0.5)),
    ("Adam", lambda p: torch.optim.Adam(p, lr=3e-3)),
):
    right, wrong = weights_after_a_step(make, 1), weights_after_a_step(make, 3)
    print(f"{name:5} mean distance of a weight {(right - wrong).abs().mean().item():.1e}")
reveal("data_parallel_gradients-3")

# %% [markdown]
# Adam divides a gradient by its own recent size, so a factor of three cancels, in this step and in
# all that follow: the wrong program's loss curve looks right. The program is still wrong: gradient
# clipping no longer clips where you think it does, and the next person who changes the optimizer
# inherits a mystery. So in this lab correctness is always tested with SGD, tensor by tensor,
# against one device.
#
# ### Your turn: DP-1 · 15 minutes · 10 points
#
# Write `average_gradients()` in `DP/gradient_aggr/intro_DP_GA.py`: after `backward()`, it replaces
# the gradient of every parameter by the mean over all ranks. The experiment above did it with one
# flat tensor; here the gradients are attached to parameters, and some parameters may have none.
# Open the file, write the body, save it and run the check. A click on a hint opens it.

# %%
check("DP-1")

# %% [markdown]
# ## From one device's script to many
#
# Here is the loop of a data-parallel script. Each rank has made the same model from the same seed,
# and reads a part of the text of its own.

# %% jupyter={"source_hidden": true}
show_code("DP/gradient_aggr/intro_DP_GA.py", "train", "for step", "optimizer.step()")

# %% [markdown]
# One call in the loop is new, the mean of all gradients. Forward, backward, optimizer and loss are
# those of lesson 01. What else differs between the two scripts is set-up, such as which part of the
# text a rank reads:

# %% jupyter={"source_hidden": true}
show_diff("primer/intro.py", "DP/gradient_aggr/intro_DP_GA.py", context=1)

# %% [markdown]
# ## Training on three ranks
#
# One device and three ranks train from the same weights on the same stories, with SGD. From here
# on, the ranks use *your* function.


# %%
def train_alone(flags):
    """Train on one device, as the script would with these flags."""
    return intro.train(intro.read_flags(flags), lambda step, loss: None)


def train_rank(flags):
    """The same on a rank, with this lesson's script."""
    options = intro_DP_GA.read_flags(flags)
    return intro_DP_GA.train(options, find_place(), "cpu", lambda step, loss: None)


steps = ["--steps", quick("40", "2"), "--optimizer", "sgd", "--lr", "0.1"]
one = [*steps, "--batch-size", "3", "--like-ranks", "3"]
losses, trained, _ = train_alone(one)
ours = launch(train_rank, 3, (steps,), quiet=True, checked=False)

# %% tags=["training"]
mean_losses = [sum(step) / 3 for step in zip(*(r[0] for r in ours), strict=True)]
runs = {"one device": losses, "three ranks": mean_losses}
show(curves(runs))


# %%
def distances(mine, whole):
    """The largest difference of each tensor."""
    return {name: (mine[name] - whole[name]).abs().max().item() for name in mine}


before, after = net.state_dict(), trained.state_dict()  # net never took a step
moved = max(distances(after, before).values())
difference = max(distances(after, ours[0][1].state_dict()).values())

# %% jupyter={"source_hidden": true}
print(f"in {len(losses)} steps the weights moved by up to {moved:.2g}")
print(f"they differ by {difference:.1e}")
assert difference < 1e-3 * moved

# %% [markdown]
# One curve lies on the other, and the weights differ only by rounding, because the ranks add the
# same numbers in another order. (With Adam, the weights of one device and of three ranks would move
# apart even if the program is right. Where a gradient is almost zero, rounding can flip its sign,
# and Adam takes a full step either way.)
#
# ## Global batch and learning rate
#
# Three ranks read three times as much per step, so they take a third of the steps over the same
# text. Should each step be longer? As long as the weights move so little in $k$ steps that each
# batch's gradient stays nearly the same, $k$ small steps add up to one step along the mean gradient
# that is $k$ times as long, which suggests the **linear scaling rule**: multiply the batch by $k$,
# multiply the learning rate by $k$. Together with a few epochs of warm-up, [Goyal et
# al.](https://arxiv.org/abs/1706.02677) used it to train ResNet-50 with batches of 8,192 on 256
# GPUs. For Adam, [Malladi et al.](https://arxiv.org/abs/2205.10287) derive a factor of $\sqrt k$.
#
# Neither holds for long. The larger the batch, the less noisy its gradient, and the less a still
# larger one helps. Where noise and gradient are about equal, [McCandlish et
# al.](https://arxiv.org/abs/1812.06162) speak of the **critical batch size** and show how to
# estimate it. Around it, doubling the batch no longer halves the number of steps, and far beyond it
# extra replicas only burn power. This is one reason why data parallelism alone doesn't scale
# forever; the end of this lesson gives another.
#
# ## What does an all-reduce cost?
#
# Before every update there is an all-reduce of all gradients, 4 bytes each:

# %%
size = sum(p.numel() for p in net.parameters())
print(f"{size:,} gradients of 4 bytes: {4 * size / 1e6:.1f} MB in every all-reduce")

# %% [markdown]
# How would you build it from messages? The obvious way is a **star**: all ranks send their tensor
# to rank 0, which adds them up and sends the sum back to each. Rank 0 then sends $n-1$ whole
# tensors, while all the others wait.

# %% jupyter={"source_hidden": true}
predict(
    "data_parallel_gradients-4",
    "Four ranks, each with a tensor of 4 MB, and you may organize the messages as cleverly as you "
    "like. How much does the busiest rank have to send?",
    "6 MB",
    "12 MB: the whole tensor to three others",
    "4 MB: the whole tensor, once",
)

# %% [markdown]
# The clever way is a **ring**. Each rank sends only to its right neighbor and receives only from
# its left one. The tensor is cut into as many parts as there are ranks, and all ranks send at the
# same time, each a different part. In the picture rank 0 starts with 1s, rank 1 with 10s, rank 2
# with 100s and rank 3 with 1000s, so the digits of a sum tell which ranks are in it: 110 comes from
# ranks 1 and 2. Step through it:

# %%
vary(lambda step: ring(4, step), step=(1, 0, 2, 3, 4, 5, 6))

# %% [markdown]
# The first half is a reduce-scatter: each part travels once around the ring and collects a number
# from every rank it visits. After it, each rank holds one finished part. The second half is an
# all-gather: the finished parts go around once more, and are kept instead of added. Here are all
# the steps with three ranks; a frame marks the part that has just arrived, and purple parts are
# finished.
#
# ![All steps of a ring all-reduce of three ranks, below each other. Start: 1 1 1, 10 10 10, 100 100
# 100. After reduce-scatter, steps 0 and 1, each rank holds one finished part, 111. After
#      all-gather, steps 0 and 1, all parts of all ranks are 111.](../imgs/ring_table.svg)

# %% jupyter={"source_hidden": true}
reveal("data_parallel_gradients-4")

# %% [markdown]
# Count the messages. There are $n-1$ steps in each half, and in each step a rank sends one part of
# $S/n$ bytes, so each rank sends
#
# $$2\,(n-1)\cdot\frac{S}{n} = 2\,\frac{n-1}{n}\,S .$$
#
# With three ranks that's 4/3 of the tensor, and it never reaches twice its size, however many ranks
# there are. As long as the ranks themselves do the adding, no scheme gets the *busiest* rank below
# this ([Patarasuk and Yuan 2009](https://doi.org/10.1016/j.jpdc.2008.09.002)). A single rank can
# get by with less: a leaf of the star sends its tensor just once. And all of them can, if the
# network does the adding: with NVIDIA's SHARP, the switches compute the sums.
#
# When eight ranks all-reduce 100 MB of gradients in a ring, each sends 175 MB.
#
# ### Your turn: RC-1 · 40 minutes · 20 points
#
# Write `ring_all_reduce()` in `primer/ring.py`: the ring of the picture, with `isend` and `irecv`
# between real ranks. It returns how many bytes this rank has sent, so that we can compare with the
# formula.

# %%
check("RC-1")

# %% [markdown]
# Your ring on two, three and four ranks, with a length that none of these numbers divides. The
# bytes are counted, not computed:


# %%
def with_the_ring():
    import ring

    torch.manual_seed(dist.get_rank())
    ours = torch.randn(100_003)
    torchs = ours.clone()
    sent = ring.ring_all_reduce(ours, dist.get_rank(), dist.get_world_size())
    dist.all_reduce(torchs)
    return sent / ours.nbytes, (ours - torchs).abs().max().item()


for ranks in (2, 3, 4):
    counted, off = zip(*launch(with_the_ring, ranks, quiet=True), strict=True)
    formula = 2 * (ranks - 1) / ranks
    claim(f"{ranks} ranks: times the tensor that each sends", max(counted), formula, within=1e-3)
    off = max(off)
    print(f"largest difference from torch's sum: {off:.1e}")
    assert off < 1e-5

# %% [markdown]
# — *With ninety minutes, stop here.* —
#
# ## What a message costs
#
# Bytes aren't seconds. Two numbers convert one into the other, and you'll meet them in every paper
# on collectives: a message of $S$ bytes takes
#
# $$T(S) = \alpha + \beta S .$$
#
# $\alpha$ is the **latency**, which even an empty message costs. $1/\beta$ is the **bandwidth**.
# Let's measure both on your machine: two ranks play ping-pong with messages of different sizes, and
# a round trip is two messages.


# %%
def ping_pong(sizes, repeats):
    rank, times = dist.get_rank(), {}
    for size in sizes * 2:  # the first time around warms up
        ball, best = torch.zeros(size, dtype=torch.uint8), float("inf")
        for _ in range(repeats):
            begun = time.perf_counter()
            for turn in (0, 1):
                if rank == turn:
                    dist.send(ball, 1 - rank)
                else:
                    dist.recv(ball, 1 - rank)
            best = min(best, (time.perf_counter() - begun) / 2)
        times[size] = best
    return times


# %% tags=["time"]
sizes = [4**k for k in range(1, 12)]  # 4 bytes to 4 MB
times = launch(ping_pong, ranks=2, args=(sizes, quick(30, 5)), quiet=True, checked=False)[0]
link = fit(times)

# %% tags=["time"] jupyter={"source_hidden": true}
print(f"alpha = {1e6 * link.alpha:.0f} µs, 1/beta = {1e-9 / link.beta:.2f} GB/s")
print(f"a message of {link.alpha / link.beta:,.0f} bytes is half latency, half transfer")

# %% tags=["time"]
fitted = {size: 1e3 * link.seconds(size) for size in sizes}
measured = {size: 1e3 * seconds for size, seconds in times.items()}

# %% tags=["time"] jupyter={"source_hidden": true}
show(
    curves(
        {"measured": measured, "alpha + beta S": fitted},
        "A short message costs the latency, a long one its bytes",
        x="bytes in a message",
        y="time of a message (ms)",
        log="xy",
    )
)

# %% [markdown]
# Well below $\alpha/\beta$ bytes the line is flat, at $\alpha/\beta$ a message is half latency and
# half transfer, and beyond it the time rises with the size. Far left of the bend, sending less
# saves nothing, so you should send *fewer* messages. Far right of it, only bytes count. For
# comparison: between two GPUs in one NVLink domain, $1/\beta$ is hundreds of GB/s and $\alpha$ a
# few µs, and between two nodes over a 400 Gbit/s network card it's at most 50 GB/s.
#
# ## Star, tree and ring
#
# With $\alpha$ and $\beta$ we can price all-reduces. There's a third candidate besides star and
# ring: in a **tree**, half of the ranks send their tensor to a neighbor, which adds it to its own.
# Then half of the ranks that are left do the same, and so on, until rank 0 has the sum after
# $\lceil\log_2 n\rceil$ steps. The sum goes back to all ranks the same way in reverse.
#
# ![Who sends to whom in the first half of an all-reduce over eight ranks. Star: all send to rank 0,
# one after the other. Tree: 1 to 0, 3 to 2, 5 to 4, 7 to 6, then 2 to 0 and 6 to 4, then 4 to 0.
# Ring: all send at once to the next rank, a part each.](../imgs/ways.svg)
#
# Star and tree both move $2(n-1)$ whole tensors: the star one after the other, the tree all those
# of a step at once. The ring has as many steps as the star, but they carry only parts:
#
# $$T_\text{star} = 2(n-1)(\alpha + \beta S),\qquad
# T_\text{tree} = 2\lceil\log_2 n\rceil(\alpha + \beta S),\qquad
# T_\text{ring} = 2(n-1)\Big(\alpha + \beta\,\frac{S}{n}\Big).$$
#
# A laptop has too few cores for a fair race of eight ranks, so we use a slow link: `slow_link`
# holds each message back for $\alpha + \beta S$, and a rank sends one message at a time and takes
# in one at a time, as the formulas have it. A waiting rank needs no core, so eight of them can race
# on a few cores. This link takes 50 ms for each message and carries 5 MB/s. (These 50 ms keep
# sender and receiver busy. A latency of distance doesn't: messages from other continents can arrive
# at the same time, and then a star of short ones takes little longer than two messages.)

# %%
slow, racers = Link.of(alpha=quick(50e-3, 5e-3), beta=2e-7), quick(8, 4)


def star(x, rank, n):
    if rank > 0:
        dist.send(x, 0)
        dist.recv(x, 0)
        return
    other = torch.empty_like(x)
    for sender in range(1, n):
        dist.recv(other, sender)
        x += other
    for receiver in range(1, n):
        dist.send(x, receiver)


# %%
def tree(x, rank, n):
    other, gaps = torch.empty_like(x), [2**k for k in range((n - 1).bit_length())]
    for gap in gaps:  # towards rank 0
        if rank % (2 * gap) == gap:
            dist.send(x, rank - gap)
        elif rank % (2 * gap) == 0 and rank + gap < n:
            dist.recv(other, rank + gap)
            x += other
    for gap in reversed(gaps):  # and back
        if rank % (2 * gap) == gap:
            dist.recv(x, rank - gap)
        elif rank % (2 * gap) == 0 and rank + gap < n:
            dist.send(x, rank + gap)


# %%
def race(way, length):
    """On a rank: the seconds of an all-reduce of so many bytes."""
    from ring import ring_all_reduce

    x, rank, n = torch.ones(length // 4), dist.get_rank(), dist.get_world_size()
    with slow_link(slow):
        dist.barrier()  # all start together
        begun = time.perf_counter()
        (way or ring_all_reduce)(x, rank, n)
        return time.perf_counter() - begun


# %% tags=["time"]
ways = {"star": star, "tree": tree, "ring": None}  # the ring is yours
for length in (400, 1_000_000):
    took = {}
    for name, way in ways.items():

        def slowest(given=(way, length)):
            return max(launch(race, racers, given, quiet=True, checked=False))

        took[name] = claim(
            f"{name}, {length:,} bytes",
            slowest,
            slow.all_reduce_seconds(length, racers, name),
            within=0.25,
            because="a message needs processor time, too",
            unit=" s",
        )
    print(f"the fastest for {length:,} bytes: {min(took, key=took.get)}")

# %% [markdown]
# The tree wins the short race and the ring the long one. On our machine all took longer than their
# formulas, most of all the ring, in which all eight processes send and receive in every step.

# %%
grid, names = [400 * 1.2**k for k in range(44)], ("star", "tree", "ring")
lines = {w: {s: slow.all_reduce_seconds(s, racers, w) for s in grid} for w in names}

# %% jupyter={"source_hidden": true}
title = "Short tensors travel best by tree, long ones by ring"
show(curves(lines, title, x="bytes of the tensor", y="time of an all-reduce (s)", log="xy"))

# %% [markdown]
# Tree and ring cross where the extra latencies of the ring cost as much as the extra bytes of the
# tree. Eight ranks take 6 steps in the tree and 14 in the ring:
#
# $$6\,(\alpha + \beta S) = 14\,\Bigl(\alpha + \beta\,\frac S8\Bigr)
# \qquad\Longrightarrow\qquad S = \frac{8}{4.25}\cdot\frac\alpha\beta,$$
#
# which is 470 kB here. So none of these three is always best, and libraries don't settle on one:
# NCCL picks ring or tree (its trees are double, and cut tensors into pieces) for each call, by size
# and number of ranks. Where any two ranks can talk at full speed, recursive halving and doubling
# combines both advantages, the few steps of the tree and the few bytes of the ring:
# $2\alpha\log_2 n + 2\,\frac{n-1}n\,\beta S$.
#
# What does NCCL do on a real machine?
#
# | where | what it does |
# |---|---|
# | GPUs of one node | rings over NVLink, several at a time; or sums inside the NVLink switch |
# | between nodes, large tensors | a ring per network card, GPU to card without the host |
# | between nodes, small and medium tensors | double binary trees: fewer steps |
#
# ## Two levels, and sums in 32 bits
#
# **Between nodes each network card has to carry only an eighth of the bytes that a ring through one
# card would.** The ranks of a node first reduce-scatter among themselves over NVLink, after which
# each holds the node's sum of one eighth. It all-reduces that eighth with the ranks that hold the
# same eighth on the other nodes, and then the node gathers. Eight network cards work at once, and
# the slow links see $2(n/8-1)$ steps instead of the $2(n-1)$ of one long ring. This is a
# **two-level** (or hierarchical) all-reduce.
#
# Large runs often take these sums in 32 bits even if the weights have 16. A bfloat16 keeps eight
# significant bits, and in a ring a part adds up the ranks' numbers one after another:

# %%
total = torch.zeros((), dtype=torch.bfloat16)
for _ in range(1024):
    total += 1.0
print(f"1,024 ranks each add a 1, in bfloat16: {total.item():.0f}")

# %% [markdown]
# From 256 on, adding 1 rounds back to 256. (A tree would get 1,024, because it always adds two
# equal sums.) Gradients differ, so a real sum isn't that far off, but to be sure that training
# converges, Llama 3 reduced its gradients in 32 bits, which doubles their bytes
# ([2407.21783](https://arxiv.org/abs/2407.21783), section 3.3.2). [Lesson 17](17_fewer_bits.ipynb)
# goes deeper.
#
# ## When does sending cost more than computing?
#
# **With 2-byte gradients, averaging can hide behind backward only if a replica reads at least $F/B$
# tokens in the last micro-batch of a step; with 4 bytes, twice as many.** $F$ is the FLOP/s of a
# device and $B$ the bytes per second of its link. Backward takes $4Pt/F$ seconds for $t$ tokens, a
# ring of many ranks $4P/B$ for gradients of 2 bytes. So sending hides if $4Pt/F \ge 4P/B$, that is
# $t \ge F/B$: the size of the model cancels. For an H100 at its peak of 989 TFLOP/s that's
# $989 \cdot 10^{12} / 450 \cdot 10^9$ = 2,200 tokens over NVLink (1,900 for the eight ranks of a
# node), and 19,780 over one network card of 50 GB/s.
# [Lesson 10](10_rooflines.ipynb) derives this, tries it on paced ranks, and finds the same pattern
# in every other way to share the work.
#
# In our own script nothing hides yet. Here are three steps on two ranks of your machine, with your
# `average_gradients()`: all of the communication comes after all of forward and backward. Lesson 11
# starts to send while backward is still running.

# %%
flags = ["--steps", quick("10", "4")]
traces = [trace for _, _, trace in launch(train_rank, 2, (flags,), quiet=True, checked=False)]

# %% tags=["time"] jupyter={"source_hidden": true}
show(last_steps(with_waits(traces[0].merged(traces[1])), 3))

# %% [markdown]
# And on a real machine? Eight GPUs train a model with 8 billion parameters and 16-bit gradients, 16
# GB. Each GPU sends 450 GB/s over NVLink, so without latency the ring all-reduce takes 2 · 7/8 · 16
# / 450 s = 62 ms.
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - Data parallel: every rank holds the whole model and reads its own part of the data. After
#   backward, an all-reduce leaves every rank with the mean gradient, and all take the same step.
# - Taking gradients is linear, so the mean of the ranks' gradients is the gradient of the global
#   batch. Gradient accumulation is the same mean, spread over time.
# - A sum in place of a mean is invisible under Adam. Test with SGD.
# - A larger global batch wants a larger learning rate, up to the critical batch size.
# - A message takes $\alpha + \beta S$. In a ring each rank sends $2(n-1)/n$ of the tensor; a tree
#   has fewer steps and wins when the tensor is small.
# - Averaging 2-byte gradients can hide behind backward only if a replica reads at least $F/B$
#   tokens in a step's last micro-batch: for an H100 2,200 over NVLink, 19,780 over a network card.
#   The size of the model cancels.
# - Below that, add tokens to the replica, not replicas: let several GPUs share one copy of the
#   model.
#
# ## In the wild
#
# - Llama 3 405B grew its global batch from 4 million tokens to 8 and then to 16 million during
#   training ([2407.21783](https://arxiv.org/abs/2407.21783), section 3.4.1): small batches early,
#   for stability, and large ones later, for efficiency.
# - ResNet-50 on ImageNet in one hour: 256 GPUs, a global batch of 8,192, linear scaling and five
#   epochs of warm-up ([1706.02677](https://arxiv.org/abs/1706.02677)).
# - NCCL builds its rings at start-up from the topology that it detects, and added double binary
#   trees in version 2.4, because at thousands of GPUs the $2(n-1)\alpha$ of the ring had become the
#   bottleneck ([NVIDIA's
#   blog](https://developer.nvidia.com/blog/massively-scale-deep-learning-training-nccl-2-4/)).
#   Inside a node NCCL already had rings in 2016; Baidu's of 2017 went between nodes, and Horovod
#   made them common.
# - Read `start_grad_sync` in Megatron-LM's `megatron/core/distributed/param_and_grad_buffer.py`.
#   Find the all-reduce, and then find the division: is it before the sum or after it, and what does
#   `average_in_collective` change?
#
# ## Where next
#
# There are two ways out when a replica has too few tokens. [Lesson
# 04](04_data_parallel_weights.ipynb) sends less often, and averages weights instead of gradients.
# [Lesson 05](05_naive_pipeline.ipynb) cuts the model, so that several devices share one replica and
# its tokens.
