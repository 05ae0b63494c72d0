# %% [markdown]
# # Averaging gradients
#
# *Reading 35 minutes · tasks 55 · machine 1*
#
# *With twenty minutes: everything up to the comparison with one device; believe the ring.*
#
# A single GPU would need thousands of years for a run like Llama 3 405B, so the work has to be
# divided. The oldest way to divide it is still the outermost layer of every large run: put a copy
# of the model, a **replica**, on each device, and let each copy read a different part of the text.
# This is **data parallelism**.
#
# But replicas that read different texts compute different gradients. Left alone, they would drift
# apart, and after a day you would own a thousand mediocre models.
#
# **Question.** What must the devices tell each other, so that many of them learn exactly what one
# big device would learn, and how long does that take?

# %%
import sys
import time
from contextlib import nullcontext

import torch
import torch.distributed as dist

from helpers.draw import curves, replicas, ring_table, ways
from helpers.draw import ring as ring_picture
from helpers.grade import check
from helpers.lesson import answer, claim, predict, quick, reveal, show, show_diff
from helpers.network import Link, fit, remember, slow_link
from helpers.ranks import find_place, launch, usable_cores
from simplellm.losses import causalLLMLoss
from simplellm.options import make_stories
from simplellm.stories import floor

# %%
sys.path[:0] = ["../primer", "../DP/gradient_aggr"]
import intro

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## Three ranks, three gradients
#
# Three ranks build the same model from the same seed. Rank 0 takes the stories 0, 3, 6 …, rank 1
# the stories 1, 4, 7 … and rank 2 the rest, so that no story is read twice. Each of them computes
# the gradient of the loss on its own sequence.

# %%
options = intro.read_flags(["--batch-size", "1"])


def own_gradient():
    tokenizer = intro.make_tokenizer(options)
    torch.manual_seed(0)
    net = intro.make_model(options, tokenizer)
    ids = next(iter(make_stories(options, tokenizer, dist.get_rank(), 3)))
    loss = causalLLMLoss(net(ids), ids, tokenizer.vocab_size)
    loss.backward()
    return loss.item(), torch.cat([p.grad.flatten() for p in net.parameters()])


results = launch(own_gradient, ranks=3, quiet=True)
for rank, (loss, gradient) in enumerate(results):
    print(f"rank {rank}: loss {loss:.4f}, last gradients", *(f"{g:.1e}" for g in gradient[-3:]))

# %% [markdown]
# Three sequences, three different gradients. If each rank took a step along its own, there would be
# three different models. Suppose they agree on the **mean** instead: an all-reduce (lesson 02)
# leaves the sum on every rank, and each rank divides it by the number of ranks.


# %%
def mean_gradient():
    loss, gradient = own_gradient()
    dist.all_reduce(gradient)
    return gradient / dist.get_world_size()


parallel = launch(mean_gradient, ranks=3, quiet=True)

# %%
predict(
    "L03-1",
    "One device takes the three sequences as one batch. How far is its gradient from the mean that "
    "the ranks computed?",
    "three times as large",
    "similar at best: the ranks didn't see each other's text",
    "equal, up to rounding",
)

# %%
whole = intro.read_flags(["--batch-size", "3"])
tokenizer = intro.make_tokenizer(whole)
torch.manual_seed(0)
net = intro.make_model(whole, tokenizer)
ids = next(intro.stories_of_ranks(whole, tokenizer, ranks=3))
causalLLMLoss(net(ids), ids, tokenizer.vocab_size).backward()
one_device = torch.cat([p.grad.flatten() for p in net.parameters()])
far = max((gradient - one_device).abs().max().item() for gradient in parallel)
print(f"largest gradient {one_device.abs().max().item():.1e}, largest difference {far:.1e}")
reveal("L03-1")

# %% [markdown]
# ## One mean
#
# Why are the two equal? Write $\ell_i(\theta)$ for the loss of token $i$, and deal a batch out
# to $n$ ranks, $t$ tokens to each, so that rank $r$ computes the mean $L_r$ over its own. The loss
# of the batch is the mean over all $nt$ tokens:
#
# $$L = \frac1{nt}\sum_{i=1}^{nt}\ell_i
# = \frac1n\sum_{r=1}^{n}\underbrace{\frac1t\sum_{i\in r}\ell_i}_{L_r}
# \qquad\Longrightarrow\qquad \nabla L = \frac1n\sum_{r=1}^{n}\nabla L_r .$$
#
# The arrow is the whole theory of data parallelism: differentiation is linear, so the gradient of a
# mean is the mean of the gradients. Each rank needs one thing from the others, the **mean of all
# gradients**, and then every rank takes the same step from the same weights.

# %%
show(replicas())

# %% [markdown]
# No weights are sent, ever: the replicas start equal, and because every step is the same on all of
# them, they stay equal. So a batch of one sequence on each of three ranks *is* a batch of three.
# What counts for learning is the **global batch**: ranks × sequences per rank.
#
# The same line of algebra can be read in a second way. If one device has room for a single
# sequence, it can run the three of them *one after the other*, add up the gradients and take one
# step at the end. This is **gradient accumulation**, the sibling of data parallelism: the same
# mean, spread over time instead of over devices. PyTorch does the adding for you, because
# `backward()` adds to `.grad`:

# %%
net.zero_grad()
for sequence in ids.split(1):
    (causalLLMLoss(net(sequence), sequence, tokenizer.vocab_size) / 3).backward()
accumulated = torch.cat([p.grad.flatten() for p in net.parameters()])
apart = (accumulated - one_device).abs().max().item()
claim.below("largest difference, on three ranks or accumulated", max(far, apart), 1e-6)

# %% [markdown]
# Both readings share a trap. If the parts don't hold equally many tokens, the mean of their means
# is *not* the mean over all tokens, so weight each part by its number of tokens. Until 2024,
# Hugging Face's trainer, like many others, averaged the means of the micro-batches ([how they found
# out](https://huggingface.co/blog/gradient_accumulation)).
#
# Large runs do both: each rank accumulates over several **micro-batches** and then averages once
# with the others. Four ranks hold two sequences of 128 tokens each at a time, and accumulate over
# eight micro-batches. How many tokens does one optimizer step see?

# %%
mine = None
answer("L03-2", mine)

# %% [markdown]
# ## The sum instead of the mean
#
# It's easy to forget the division and use the sum instead of the mean. Whether you'd notice depends
# on the optimizer.

# %%
predict(
    "L03-3",
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
reveal("L03-3")

# %% [markdown]
# Under Adam, the loss curve of the wrong program looks perfect. It's still wrong: gradient clipping
# no longer clips where you think it does, and the next person who changes the optimizer inherits a
# mystery. So in this lab correctness is always tested with SGD, tensor by tensor, against one
# device.

# %% [markdown]
# ### Your turn: DP-1 · 15 minutes · 10 points
#
# Write `average_gradients()` in `DP/gradient_aggr/intro_DP_GA.py`: after `backward()`, it replaces
# the gradient of every parameter by the mean over all ranks. The experiment above did it with one
# flat tensor; here the gradients are attached to parameters, and some parameters may have none.
# Open the file, write the body, save it and run the check. A click on a hint opens it.

# %%
check("DP-1")

# %% [markdown]
# ## From the script of one device to the script of many
#
# Here are the lines that make a training script data-parallel. Everything else, forward, backward,
# optimizer, loss, is the script of lesson 01.
#
# ```python
# tokenizer, net = prepare(options, device)          # the same seed, so the same weights
# stories = make_stories(..., rank, world_size)      # new: its own part of the text
# for step in range(options.steps):
#     ids = next(stories)
#     optimizer.zero_grad()
#     loss = causalLLMLoss(net(ids), ids, tokenizer.vocab_size)
#     loss.backward()
#     average_gradients(net, world_size)             # new: one mean for all
#     optimizer.step()
# ```
#
# And this is what differs between the two scripts:

# %%
show_diff("primer/intro.py", "DP/gradient_aggr/intro_DP_GA.py", context=1)

# %% [markdown]
# ## Training on three ranks
#
# One device and three ranks train from the same weights on the same stories, with SGD. From here
# on, the ranks use *your* function.

# %%
steps = ["--steps", str(quick(40, 2)), "--optimizer", "sgd", "--lr", "0.1"]
torch.manual_seed(0)
alone = intro.read_flags([*steps, "--batch-size", "3", "--like-ranks", "3"])
losses, trained, _ = intro.train(alone, say=lambda step, loss: None)


# %%
def train_rank(flags):
    import intro_DP_GA

    options = intro_DP_GA.read_flags(flags)
    return intro_DP_GA.train(options, find_place(), "cpu", say=lambda step, loss: None)


ours = launch(train_rank, ranks=3, args=(steps,), quiet=True, checked=False)

# %% tags=["training"]
mean_losses = [sum(step) / 3 for step in zip(*(r[0] for r in ours), strict=True)]
runs = {"one device": losses, "three ranks": mean_losses}
show(curves(runs, floor=floor(tokenizer, world=whole.world).nats_per_token))

# %%
before, after = net.state_dict(), trained.state_dict()  # net never took a step
theirs = ours[0][1].state_dict()
moved = max((after[name] - before[name]).abs().max().item() for name in after)
difference = max((after[name] - theirs[name]).abs().max().item() for name in after)
print(f"in {len(losses)} steps the weights moved by up to {moved:.2g}")
claim.below("they differ by less than a thousandth of that", difference, 1e-3 * moved)

# %% [markdown]
# One curve lies on the other, and the weights differ only by rounding, because the ranks add the
# same numbers in another order. (With Adam the weights would drift apart even if the program is
# right. Where a gradient is almost zero, rounding can flip its sign, and Adam takes a full step
# either way.)
#
# ## Global batch and learning rate
#
# Parity has a price. Three ranks that match one device *with a batch of three* take a third as many
# steps to read the same text, so they should take larger ones. How much larger? As long as the
# gradients of consecutive steps point in nearly the same direction, $k$ small steps cover the
# distance of one step that is $k$ times as long, which suggests the **linear scaling rule**:
# multiply the batch by $k$, multiply the learning rate by $k$. Together with a few epochs of
# warm-up, [Goyal et al.](https://arxiv.org/abs/1706.02677) used it to train ResNet-50 with batches
# of 8,192 on 256 GPUs. With Adam, a factor of $\sqrt k$ is the more common choice.
#
# Neither holds for long. Once a batch is large enough that its gradient is hardly noisy, a larger
# one tells you nothing new, and extra replicas only burn power. [McCandlish et
# al.](https://arxiv.org/abs/1812.06162) call this point the **critical batch size** and show how to
# estimate it from the noise of the gradients. It's the reason why data parallelism alone doesn't
# scale forever.
#
# ## What does an all-reduce cost?
#
# Every step ends with an all-reduce of all gradients, 4 bytes each:

# %%
size = sum(p.numel() for p in net.parameters())
print(f"{size:,} gradients of 4 bytes: {4 * size / 1e6:.1f} MB in every all-reduce")

# %% [markdown]
# How would you build it from messages? The obvious way is a **star**: all ranks send their tensor
# to rank 0, which adds them up and sends the sum back to each. Rank 0 then sends $n-1$ whole
# tensors, while all the others wait.

# %%
predict(
    "L03-4",
    "Four ranks, each with a tensor of 4 MB, and you may organize the messages as cleverly as you "
    "like. How much does the busiest rank have to send?",
    "6 MB",
    "12 MB: the whole tensor to three others",
    "4 MB: the whole tensor, once",
)

# %% [markdown]
# The clever way is a **ring**. Each rank sends only to its right neighbor and receives only from
# its left one. The tensor is cut into as many parts as there are ranks, and all ranks send at the
# same time, each a different part. In the picture rank 0 starts with 1s, rank 1 with 10s and rank 2
# with 100s, so you can tell which ranks have gone into a sum: 110 comes from ranks 1 and 2. Step
# through it:


# %%
def rings(theme):
    return {
        f"{n} ranks": [ring_picture(n, step, theme) for step in range(2 * n - 1)] for n in (4, 3, 2)
    }


def live():
    from helpers.lesson.stepper import stepper

    return stepper(rings)


show(ring_picture(4, 1), live=live)

# %% [markdown]
# The first half is a reduce-scatter: each part travels once around the ring and collects a number
# from every rank it visits. After it, each rank holds one finished part. The second half is an
# all-gather: the finished parts go around once more, and are kept instead of added. Here are all
# the steps with three ranks; a frame marks the part that has just arrived, and green parts are
# finished.

# %%
show(ring_table(3))
reveal("L03-4")

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
# Eight ranks all-reduce 100 MB of gradients in a ring. How many MB does each rank send?

# %%
mine = None
answer("L03-5", mine)

# %% [markdown]
# ### Your turn: RC-1 · 40 minutes · 15 points
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
    claim.below("largest difference from torch's sum", max(off), 1e-5)

# %% [markdown]
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
    for size in sizes:
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
sizes = [4**k for k in range(1, 13)]  # 4 bytes to 17 MB
times = launch(ping_pong, ranks=2, args=(sizes, quick(30, 5)), quiet=True, checked=False)[0]
link = fit(times)
remember(link)  # later lessons read it again
print(f"alpha = {1e6 * link.alpha:.0f} µs, 1/beta = {1e-9 / link.beta:.2f} GB/s")
print(f"a message of {link.alpha / link.beta:,.0f} bytes is half latency, half transfer")

# %% tags=["time"]
fitted = {size: 1e3 * link.seconds(size) for size in sizes}
measured = {size: 1e3 * seconds for size, seconds in times.items()}
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
# The line is flat up to about $\alpha/\beta$ bytes and then rises with the size. Left of the bend,
# sending less saves nothing, so you should send *fewer* messages. Right of it, only bytes count.
# For comparison: between two GPUs in one NVLink domain, $1/\beta$ is hundreds of GB/s and $\alpha$
# a few µs, and between two nodes over a 400 Gbit/s network card it's at most 50 GB/s.
#
# ## Star, tree and ring
#
# With $\alpha$ and $\beta$ we can price all-reduces. There's a third candidate besides star and
# ring: in a **tree**, half of the ranks send their tensor to a neighbor, which adds it to its own.
# Then half of the ranks that are left do the same, and so on, until rank 0 has the sum after
# $\lceil\log_2 n\rceil$ steps. The sum goes back to all ranks the same way in reverse.

# %%
show(ways(8))

# %% [markdown]
# The star moves $2(n-1)$ whole tensors, one after the other, and the tree one for each of its
# steps. The ring has as many steps as the star, but they carry only parts:
#
# $$T_\text{star} = 2(n-1)(\alpha + \beta S),\qquad
# T_\text{tree} = 2\lceil\log_2 n\rceil(\alpha + \beta S),\qquad
# T_\text{ring} = 2(n-1)\Big(\alpha + \beta\,\frac{S}{n}\Big).$$
#
# A laptop has too few cores for a fair race of eight ranks, so we use a slow link: `slow_link`
# holds back each message until a link with the given latency and bandwidth would have delivered it,
# and while ranks wait they don't compete for cores. This one has a latency of 10 ms and carries 10
# MB/s.

# %%
predict(
    "L03-6",
    "Eight ranks, a latency of 10 ms, 10 MB/s. Which way is fastest for 400 bytes, and which "
    "for 1 MB?",
    "the ring for both, because it sends the fewest bytes",
    "the star for 400 bytes, the tree for 1 MB",
    "the tree for 400 bytes, the ring for 1 MB",
)


# %%
slow, racers = Link.of(alpha=10e-3, beta=1e-7), quick(8, 4)


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
def race(sizes, slow=None, repeats=1):
    import ring

    rank, n, seconds = dist.get_rank(), dist.get_world_size(), {}
    for name, way in (("star", star), ("tree", tree), ("ring", ring.ring_all_reduce)):
        for size in sizes:
            x = torch.ones(size // 4)
            with slow_link(slow) if slow else nullcontext():
                for _ in range(repeats):
                    dist.all_reduce(torch.ones(1))  # all start together
                    begun = time.perf_counter()
                    way(x, rank, n)
                    took = time.perf_counter() - begun
                    seconds[name, size] = min(took, seconds.get((name, size), took))
    return seconds


# %% tags=["time"]
lengths = (400, 100_000, 1_000_000)
found = launch(race, racers, args=(lengths, slow), quiet=True, checked=False)
real = {key: max(seconds[key] for seconds in found) for key in found[0]}
for (way, length), seconds in real.items():
    predicted = slow.all_reduce_seconds(length, racers, way)
    print(
        f"{way} {length:9,} B: {1e3 * predicted:5.0f} ms predicted, {1e3 * seconds:5.0f} measured"
    )
best = {length: min(("star", "tree", "ring"), key=lambda w: real[w, length]) for length in lengths}
claim.same("the fastest for 400 bytes", best[400], "tree")
claim.same("the fastest for 1,000,000 bytes", best[1_000_000], "ring")
reveal("L03-6")

# %% tags=["time"]
for way, width, why in (
    ("star", 0.15, ""),
    ("tree", 0.4, "it takes 15 to 35 ms more than its formula says, at each length"),
    ("ring", 0.9, "it takes about 100 ms more than its formula says, at each length"),
):
    off = {s: real[way, s] / slow.all_reduce_seconds(s, racers, way) for s in lengths}
    worst = max(off.values(), key=lambda ratio: abs(ratio - 1))
    claim(f"{way}: measured over predicted, at worst", worst, 1, width, why)

# %%
grid, names = [400 * 1.2**k for k in range(44)], ("star", "tree", "ring")
lines = {w: {s: slow.all_reduce_seconds(s, racers, w) for s in grid} for w in names}
title = "As predicted: short tensors travel best by tree, long ones by ring"
show(curves(lines, title, x="bytes of the tensor", y="time of an all-reduce (s)", log="xy"))

# %% [markdown]
# The lines of tree and ring cross where the extra latencies of the ring cost as much as the extra
# bytes of the tree. So no single way is always best, and libraries don't settle on one: NCCL picks
# ring or tree for each call, by size and number of ranks.
#
# Now the same race without a slow link: two and four ranks on your machine, priced with the
# $\alpha$ and $\beta$ that you've just measured.

# %% tags=["time"]
for n in (2, 4):
    here = launch(race, n, args=((4_000, 4_000_000), None, quick(10, 2)), quiet=True, checked=False)
    for way, length in here[0]:
        seconds = max(each[way, length] for each in here)
        predicted = link.all_reduce_seconds(length, n, way)
        print(f"{n} ranks, {way} {length:9,} B: {1e3 * predicted:6.2f} ms predicted, ", end="")
        print(f"{1e3 * seconds:6.2f} measured")

# %% [markdown]
# Most of these predictions are too optimistic, and it's worth knowing why. The model assumes a
# network in which every rank can send at any time. On one machine the same few cores copy the
# messages, add the numbers and run Python, and a rank that isn't on a core can't receive. So the
# more messages an algorithm needs and the more ranks share a core, the further it falls behind its
# prediction. On a cluster the same happens with network cards that several GPUs share.
#
# ## Tokens per second
#
# Now we can predict what three ranks buy you. Let a step of one rank take $t_1$. On $c$ cores, $n$
# ranks need $\max(1, n/c)$ times as long to compute, and then they all-reduce $S$ bytes, by ring:
#
# $$t_n = t_1\,\max(1, n/c) + 2(n-1)\Big(\alpha + \beta\frac{S}{n}\Big),\qquad
# \text{tokens per second} = \frac{n \cdot 128}{t_n}.$$

# %%
predict(
    "L03-7",
    "Each rank reads one sequence a step. How many times as many tokens per second do three ranks "
    "read as one rank, on your machine?",
    "at least 2.8 times: there are three ranks",
    "more than one rank, but well below three times",
    "fewer tokens than one rank: communicating costs more than it brings",
)


# %%
def train_ranks(ranks):
    flags = ["--steps", str(quick(20, 4))]
    results = launch(train_rank, ranks, args=(flags,), quiet=True, checked=False)
    return [trace for _, _, trace in results]


def tokens_per_second(traces):
    ends = [event.end for event in traces[0].events_of(0) if event.kind == "update"]
    return len(traces) * options.seq_l * (len(ends) - 2) / (ends[-1] - ends[1])


traces = {ranks: train_ranks(ranks) for ranks in (1, 2, 3)}
speed = {ranks: tokens_per_second(each) for ranks, each in traces.items()}

# %% tags=["time"]
cores, step = usable_cores(), options.seq_l / speed[1]
for ranks, reached in speed.items():
    longer = step * max(1, ranks / cores) + link.all_reduce_seconds(4 * size, ranks)
    hoped = ranks * options.seq_l / longer
    print(f"{ranks} rank(s): {hoped:6,.0f} tokens/s predicted, {reached:6,.0f} measured")
reveal("L03-7", speedup=speed[3] / speed[1], cores=cores)

# %% [markdown]
# What you get divided by what you paid for, here the speed-up divided by the number of ranks, is
# called the **scaling efficiency**. Ranks that share a core can't do better than the cores allow.
# On a cluster every rank brings its own device, so only the second term is left, together with the
# wait for the slowest rank. Here are three steps of two ranks, as they were measured:

# %% tags=["time"]
from helpers.trace import Trace, with_waits

both = with_waits(traces[2][0].merged(traces[2][1]))
ends = [event.end for event in both.events_of(0) if event.kind == "update"]
few = [e for e in both.events if ends[-4] <= e.start and e.end <= ends[-1] + 1e-3]
show(Trace(few))

# %% [markdown]
# In each step, all of the communication comes after all of the computation. It doesn't have to: the
# gradients of the last layers are ready long before those of the first. Lesson 09 starts to send
# them while backward is still running.
#
# One more estimate, for a real model. Eight GPUs train a model with 8 billion parameters and 16-bit
# gradients. Each GPU sends 450 GB/s over NVLink. If we neglect the latency, how many ms does the
# ring all-reduce take?

# %%
mine = None
answer("L03-8", mine)

# %% [markdown]
# ## What to remember
#
# - Data parallel: every rank holds the whole model and reads its own part of the data. After
#   backward, an all-reduce leaves every rank with the mean gradient, and all take the same step.
# - A gradient is linear, so the mean of the ranks' gradients is the gradient of the global batch.
#   Gradient accumulation is the same mean, spread over time.
# - A sum in place of a mean is invisible under Adam. Test with SGD.
# - A larger global batch wants a larger learning rate, up to the critical batch size.
# - A message takes $\alpha + \beta S$. In a ring each rank sends $2(n-1)/n$ of the tensor; a tree
#   has fewer steps and wins when the tensor is small.
# - Communication that comes after computation is time lost.
#
# ## In the wild
#
# - Llama 3 405B grew its global batch from 4 million tokens to 8 and then to 16 million during
#   training ([2407.21783](https://arxiv.org/abs/2407.21783), section 3.4.1): small batches early,
#   while the gradients still agree, and large ones later.
# - ResNet-50 on ImageNet in one hour: 256 GPUs, a global batch of 8,192, linear scaling and five
#   epochs of warm-up ([1706.02677](https://arxiv.org/abs/1706.02677)).
# - NCCL builds its rings at start-up from the cables that it finds and added double binary trees in
#   version 2.4, because at thousands of GPUs the $2(n-1)\alpha$ of the ring had become the
#   bottleneck ([NVIDIA's
#   blog](https://developer.nvidia.com/blog/massively-scale-deep-learning-training-nccl-2-4/)). The
#   ring came to deep learning from Baidu in 2017.
# - Read `start_grad_sync` in Megatron-LM's `megatron/core/distributed/param_and_grad_buffer.py`.
#   Find the all-reduce, and then find the division: is it before the sum or after it, and what does
#   `average_in_collective` change?
#
# ## Where next
#
# One all-reduce in every step is the price of being equal. [Lesson
# 04](04_data_parallel_weights.ipynb) asks what happens if you pay it less often, and average
# weights instead of gradients.
