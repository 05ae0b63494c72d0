# %% [markdown]
# # Hiding messages: what travels while a rank computes
#
# *Reading 55 minutes, tasks 45*
#
# *With twenty minutes: read to the formula of the ring, do HM-1, and look at the table at the end.*
#
# Lesson 10 asked when sending takes longer than computing. But even where it's shorter, it costs.
# In most of our programs a rank waited while a message traveled: for two collectives around the
# products of lesson 14, for two all-to-alls in every layer of lesson 16. An H100 that waits is as
# expensive as one that computes.
#
# A message that travels *while its rank computes* costs little. You know some cases: the buckets of
# lesson 11 leave while backward goes on, the gathers of lesson 13 come while another unit computes,
# and the blocks of lesson 15 go around while one is attended to. The trick is always the same, to
# find something that can be computed without the message. It takes a new idea for each dimension of
# parallelism, though, and this lesson has them side by side.
#
# **Question.** Which message can hide behind which computing, and what is left over?

# %%
import sys
import time
from functools import partial

import torch
import torch.distributed as dist

from helpers.check import check, solve
from helpers.draw import curves, lanes
from helpers.lesson import answer, claim, predict, reveal, show, show_code
from helpers.network import Link, slow_link
from helpers.ranks import launch

# %%
sys.path[:0] = ["../primer/hiding"]
import async_tp
import halves
import prefetch
from rank import Paper, Rank, hidden

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## Which message leaves a rank idle
#
# Here is one rank in five kinds of training. It waits for every message before it goes on, and
# wherever the upper row is empty, the rank is idle: that message is **exposed**.

# %%
PLANS = {
    "data parallel, gradients": "F 2, F 2, B 4, B 4, all-reduce 6",
    "FSDP, weights": "all-gather 2, F 2, all-gather 2, F 2, B 4, all-gather 2, B 4",
    "tensor parallel, activations": 2 * "all-gather 1, F 2, reduce-scatter 1, "
    + 2 * "all-gather 1, B 4, reduce-scatter 1, ",
    "a ring of four, keys and values": "F 1, send 1, F 1, send 1, F 1, send 1, F 1",
    "experts, tokens": 2 * "F 1, all-to-all 1, F 1, all-to-all 1, ",
}


# %%
def drawn(plan):
    """The trace of a rank on paper that waits for each message."""
    rank = Paper(Link.of(0, 1))  # a byte a second, so a size is a time
    for word in plan.strip(", ").split(", "):
        kind, ms = word.split()
        if kind in "FB":
            rank.compute(int(ms) / 1e3, str, kind=kind)
        else:
            rank.send(int(ms) / 1e3, None, kind=kind)()
    return rank.trace()


# %% jupyter={"source_hidden": true}
show(lanes({name: drawn(plan) for name, plan in PLANS.items()},
             "Every message that is awaited leaves its rank idle"))  # fmt: skip

# %% [markdown]
# For each of them, ask what doesn't depend on the message:
#
# | what travels | what needs it | what doesn't, and can be computed meanwhile |
# |---|---|---|
# | gradients | the update | backward of earlier layers: **buckets**, lesson 11 |
# | weights | one layer | other layers: **prefetch** |
# | activations | the product | the same product for *other rows*: **async tensor parallelism** |
# | keys and values | the next block | the block that's here: **ring attention**, lesson 15 |
# | tokens for experts | the experts | *other tokens*: **two half-batches**, or two micro-batches |
#
# The message itself isn't shorter. So with $C$ seconds of computing and $M$ of messages, no trick
# makes a step shorter than the larger of them, and waiting makes it $C + M$. If it takes $T$, then
#
# $$\text{hidden} = \frac{C + M - T}{M}$$
#
# is the share of the messages' time that cost nothing.
#
# To predict $T$ we need no more than two queues. A rank has a core and a link; each does one thing
# at a time, in the order in which it was asked. This is all of it:

# %% jupyter={"source_hidden": true}
show_code("primer/hiding/rank.py", "Paper")

# %% [markdown]
# `Rank` in the same file has the same three verbs (compute, send, and wait by calling what `send`
# returned), but it's a real process: it computes, sleeps until its time is over, and sends by
# torch. What follows is written once, and runs on both. Your ring and FSDP stay on paper; your two
# halves of a batch also run on four ranks with a slow link, paced as in lesson 06. Paced ranks
# sleep where they would compute, so nothing here shows what a message takes from the computing; the
# end of the lesson counts that.


# %%
def on_paper(work, link):
    """The trace of one rank, predicted."""
    rank = Paper(link)
    work(rank)
    return rank.trace()


PACE, SLOW = 0.2, Link(0.8)  # seconds of a piece of work; megabits a second

# %% [markdown]
# ## Tensor parallelism: send other rows
#
# Lesson 14 left tensor parallelism with the messages of its forward pass on the critical path: a
# product needs the gathered rows. But it doesn't need all of them at once. A row of $XW$ takes one
# row of $X$, so a rank can begin with the rows it has:
#
# $$XW = \begin{bmatrix} X_0 W \\ X_1 W \\ X_2 W \\ X_3 W \end{bmatrix}.$$
#
# Each rank multiplies its own $X_r$ while passing it on to the next rank; then the one that has
# arrived, while passing *that* on; and so on, once around the ring. After the second product it's
# the sums that travel, and they're hidden in the same way: compute your product for the rows of
# somebody else while the sum of the others' products for these rows is on its way to you.
#
# ### Your turn: HM-1 · 20 minutes · 10 points
#
# Write `gathered_product()` and `scattered_product()` in `primer/hiding/async_tp.py`.

# %%
check("HM-1")

# %% [markdown]
# They're each other's backward, as gather and scatter are, so a feed-forward network trains with
# them. Not all of our backward hides: for the gradients of the weights, `async_tp.py` simply
# gathers all rows with a blocking call in each of the two. (These sums could be made block by block
# along the ring, too.) Does this network still compute the same results and gradients? In float64,
# four ranks against one device:


# %%
DIMS = 0, 0, 1, 0  # along which the result, the rows and the two weights are cut


def away(found, right):
    return (found - right).abs().max().item()


def part(whole, dim):
    """This rank's part of a tensor."""
    return whole.chunk(4, dim)[dist.get_rank()]


# %%
def of_mlp():
    """On a rank: how far the result and the gradients of its parts are from one device's."""
    draw = torch.Generator().manual_seed(0)
    sizes = (32, 12), (12, 48), (48, 12)
    whole = [torch.randn(size, generator=draw, dtype=torch.double) for size in sizes]
    cut = [part(t, dim).clone() for t, dim in zip(whole, DIMS[1:], strict=True)]
    for tensor in whole + cut:
        tensor.requires_grad_()
    y = async_tp.mlp(*cut, async_tp.Ring(Rank()))
    right = (whole[0] @ whole[1]).relu() @ whole[2]
    for result in (y, right):
        result.square().sum().backward()
    pairs = [(y, right), *((a.grad, b.grad) for a, b in zip(cut, whole, strict=True))]
    return max(away(a, part(b, d)) / away(b, 0) for (a, b), d in zip(pairs, DIMS, strict=True))


# %%
off = max(launch(of_mlp, ranks=4, quiet=True))
print(f"result and gradients differ by a share of: {off:.1e}")
assert off < 1e-12

# %% [markdown]
# And the time? With $n$ ranks there are $n$ products of $c$ seconds, and $n - 1$ messages of $m$
# seconds, each hidden behind a product. The first product needs no message at all:
#
# $$T = c + (n-1)\max(c, m), \qquad \text{hidden} = \min\!\left(1, \frac cm\right).$$

# %% jupyter={"source_hidden": true}
predict(
    "hiding_messages-1",
    "Four ranks. Gathering all rows takes as long as the whole product, C = M. Waiting for the "
    "gather, both take 2 C. And in a ring?",
    "C: all of it is hidden",
    "1.25 C",
    "1.75 C: only one of four pieces can overlap",
)


# %%
def layer(rank, seconds, width):
    """A product on four ranks, each with 16 rows. seconds: of the rows of one rank."""
    x, w = torch.zeros(16, width), torch.zeros(width, 4)
    async_tp.gathered_product(x, w, async_tp.Ring(rank, seconds))


rings = {}
for ratio in (0.5, 1, 4 / 3, 2, 4):
    width = round(PACE * ratio / SLOW.beta / 64)  # so that a message takes `ratio` pieces
    rings[ratio] = hidden(on_paper(partial(layer, seconds=PACE, width=width), SLOW))

# %%
shares = {
    "min(1, c / m)": {eighths / 8: min(1, 8 / eighths) for eighths in range(4, 33)},
    "your ring": rings,
}
show(curves(shares, "Once a message is longer than a product, what's hidden falls as c / m",
            x="message, in products", y="hidden share"))  # fmt: skip
reveal("hiding_messages-1")

# %% [markdown]
# As long as a product takes longer than a message, a whole collective has disappeared. (Your ring
# ran on paper: it meets the formula if its order is right, and that says nothing of machines.) So
# each product has its own bound on the ranks of tensor parallelism, $m \le c$: with fewer ranks all
# of its messages can hide, and with more only a part of them, $c/m$. (Lesson 14's bound also counts
# the gradients of the weights, so it's higher. Here each product stands alone: on H100s a 7B layer
# hides all messages of gate and up at 8 ranks, but only 1.9/8 of those of the output projection.)
#
# Cutting a product has a price that our paper doesn't see. A GPU needs large products to be fast,
# and a quarter of one takes more than a quarter of the time. What's left of the gain after that:
# PyTorch measured forward passes of Llama 3 that were up to 29 % faster, and whole steps up to 8 %
# ([PyTorch](https://discuss.pytorch.org/t/distributed-w-torchtitan-introducing-async-tensor-parallelism-in-pytorch/209487)).
#
# ## FSDP: gather early, but not too early
#
# Lesson 13 had one unit ahead; the question here is how early is early enough. FSDP gathers the
# weights of a unit before it computes. They depend on nothing that's computed in this step, so one
# could gather all of them at the start. But then the whole model would be in memory, which is what
# FSDP is there to avoid. So: as late as possible, and early enough. `need()`
# starts the gathers and waits for those of unit `n`, which computes next; `done()` frees it then:

# %% jupyter={"source_hidden": true}
show_code("primer/hiding/prefetch.py", "Prefetch.need")


# %%
def model():
    torch.manual_seed(0)
    return [torch.nn.Linear(64, 64, bias=False) for _ in range(5)]


def fsdp(rank, ahead, seconds=PACE, x=None):
    """Forward and backward on a rank; return the result and the units."""
    units = [prefetch.Unit(module, rank, seconds) for module in model()]
    prefetch.Unit.most = 0
    x = torch.zeros(2, 64) if x is None else x
    return prefetch.step(units, prefetch.Prefetch(units, ahead), x)[0], units


# %%
def as_one_device():
    """On a rank: how far the gradients, added up over the ranks, are from one device's."""
    torch.set_default_dtype(torch.double)
    x = torch.randn(8, 64, generator=torch.Generator().manual_seed(1))
    _, units = fsdp(Rank(), 1, x=x.chunk(4)[dist.get_rank()])
    whole = torch.nn.Sequential(*model())
    (whole(x).square().sum() / 2).backward()
    far = []
    for unit, right in zip(units, whole, strict=True):
        for p, q in zip(unit.module.parameters(), right.parameters(), strict=True):
            dist.all_reduce(p.grad)
            far.append(away(p.grad, q.grad) / away(q.grad, 0))
    return max(far)


off = max(launch(as_one_device, ranks=4, quiet=True))
print(f"with prefetch, gradients differ from one device's by a share of: {off:.1e}")
assert off < 1e-12

# %%
early = {}
for ahead in (0, 1, 2):
    trace = early[f"{ahead} ahead"] = on_paper(partial(fsdp, ahead=ahead), SLOW)
    print(f"{ahead} ahead: {trace.duration:.1f} s, units in memory: {prefetch.Unit.most}")

# %% jupyter={"source_hidden": true}
show(lanes({name: early[name] for name in ("0 ahead", "1 ahead")},
             "One unit ahead: on paper only the first gather is left"))  # fmt: skip

# %% [markdown]
# With $u$ units there are $2u - 1$ gathers of $m$ seconds, and as long as $m \le c$ all but the
# first are hidden: $1 - 1/(2u-1)$, here 8 of 9. A second unit ahead takes memory and gains nothing,
# and if gathers take *longer* than computing, it gains nothing either: then it's the link that
# decides. (We leave out the reduce-scatters of the gradients. If these have as many bytes as
# weights, $2m$ travel during $2c$ of backward, and nothing hides the last of them.)
#
# A second unit ahead pays only if units are unequal, such as an embedding with many weights and
# little to compute. (Another cure is to make them equal.) In backward, torch's `fully_shard` starts
# one gather ahead by itself. In forward a gather starts as soon as the host gets to its unit, which
# is ahead of the GPU while the host is (lesson 12). `set_modules_to_forward_prefetch([…])` of a
# module (and `set_modules_to_backward_prefetch`) lets you name others.
#
# ## Experts: two halves of a batch
#
# In a layer of experts nearly everything needs what came before: attention, dispatch, experts,
# combine, and then the next layer's attention. (Not the shared expert, if there is one.) *For one
# token*, that is. So cut the batch into two halves. While the tokens of one half travel to their
# experts, the other half computes its attention; while they're with the experts, the other half's
# tokens travel.
#
# In `primer/hiding/halves.py` a half on its way forward is a list of pieces with a message after
# each. `compute` cuts the graph of autograd at every piece, as the stages of a pipeline do, because
# only then may backward stop between two pieces, too:

# %% jupyter={"source_hidden": true}
show_code("primer/hiding/halves.py", "Forward.compute")

# %% [markdown]
# ### Your turn: HM-3 · 25 minutes · 15 points
#
# Write `Backward.compute()`, `Backward.send()` and `in_turn()` in `primer/hiding/halves.py`.

# %%
check("HM-3")


# %%
def two_halves(rank, width=128, tokens=16, seed=None):
    """Two layers, and two halves of this rank's batch that are ready to go."""
    draw = torch.Generator().manual_seed(0)
    some = torch.zeros if seed is None else partial(torch.randn, generator=draw)
    shapes = (2, width, width), (2, rank.size, width, width), (rank.size, 2, tokens, width)
    attention, experts, xs = (some(s, dtype=torch.double) / width**0.5 for s in shapes)
    ids = torch.arange(tokens) if seed is None else torch.randint(99, (tokens,), generator=draw)
    mine = [w.clone().requires_grad_() for w in attention]
    own = [w[rank.number].clone().requires_grad_() for w in experts]
    layers = halves.Layers(mine, own, seconds=(PACE, PACE))
    passes = [
        halves.Forward(layers, halves.Wire(ids, rank), x.clone(), number)
        for number, x in enumerate(xs[rank.number])
    ]
    return passes, (attention, experts, xs, ids)


# %%
def one_device(attention, experts, xs, ids):
    """The same layers without messages: results and gradients."""
    attention, experts, xs = (t.clone().requires_grad_() for t in (attention, experts, xs))
    y, to = xs, ids % experts.shape[1]
    for a, e in zip(attention, experts, strict=True):
        y = y + (y @ a).tanh()
        y = y + torch.einsum("...d,...df->...f", y, e[to].expand(*y.shape, -1)).tanh()
    (y.square().sum() / 2).backward()
    return y, attention.grad, experts.grad, xs.grad


# %%
def experts_as_one_device():
    """On a rank: how far its results and gradients are from one device's, at most."""
    passes, given = two_halves(Rank(), 8, 12, seed=0)
    halves.in_turn(*passes)
    backs = [halves.Backward(one, one.stays.clone()) for one in passes]
    halves.in_turn(*backs)
    y, of_attention, of_experts, of_x = one_device(*given)
    rank, layers, far = dist.get_rank(), passes[0].layers, []
    for half, (one, back) in enumerate(zip(passes, backs, strict=True)):
        far += [away(one.stays, y[rank, half]), away(back.stays, of_x[rank, half])]
    rights = zip(of_attention, of_experts[:, rank], strict=True)
    for a, e, right in zip(layers.attention, layers.experts, rights, strict=True):
        dist.all_reduce(a.grad)
        far += map(away, (a.grad, e.grad), right)
    return max(far)


# %%
off = max(launch(experts_as_one_device, ranks=4, quiet=True))
print(f"results and gradients of two halves differ from one device's by: {off:.1e}")
assert off < 1e-12


# %%
def forward(rank, way):
    """Both halves forward, in one of the two ways."""
    passes, _ = two_halves(rank)
    way(*passes)


# %% [markdown]
# Now the time, on paper and on four real ranks:


# %%
def on_a_rank(work, link):
    """What each real rank runs: once to get ready, and once paced and on the slow link."""
    work(Rank())
    rank = Rank(paced=True)
    dist.barrier()
    with slow_link(link):
        begun = time.perf_counter()
        work(rank)
        return rank.trace(), time.perf_counter() - begun


# %% tags=["time"]
turns = {}


def run(name, work):
    def milliseconds():
        ranks = launch(on_a_rank, 4, (work, SLOW), quiet=True, checked=False)
        turns[name] = ranks[0][0]
        return 1e3 * max(seconds for _, seconds in ranks)

    claim(name, milliseconds, 1e3 * on_paper(work, SLOW).duration, unit=" ms")


run("one after the other", partial(forward, way=halves.one_by_one))
run("alternating", partial(forward, way=halves.in_turn))

# %% tags=["time"] jupyter={"source_hidden": true}
show(lanes(turns, "One half's tokens travel while the other half computes"))

# %% [markdown]
# In $L$ layers there are $4L$ messages, and if no piece is shorter than a message, only the last
# one is exposed: hidden is $1 - 1/(4L)$, for our two layers 7 of 8. With backward, by the same
# count, it would be two of $8L$, the last combine of forward and the first gradients of backward,
# the same share (on paper: we haven't run it). If pieces are shorter, the core waits in each one.
#
# — *With ninety minutes, stop here.* —
#
# ## A forward beside a backward
#
# Half a batch makes half-sized products. A pipeline has something better at hand: another
# *micro-batch*, of which it has many. In the steady state a rank has a forward of one micro-batch
# and a backward of another to do. With plain 1F1B such a pair would have to wait: a stage gets its
# gradient just when the next stage needs its result. To run pairs everywhere takes about twice the
# micro-batches in flight, one for each message down and one for each message up. Interleaved stages
# have most of them, and NVIDIA's [Megatron
# Bridge](https://docs.nvidia.com/nemo/megatron-bridge/latest/skills/perf-techniques/moe-comm-overlap/SKILL.html)
# requires them for this. (And while the pipeline fills and drains, one of the two is missing, and
# the other's messages are exposed.) DualPipe (lesson 07) takes the two of a pair from opposite
# directions and runs them through its layers together, so that the tokens of each travel while the
# other computes. It also cuts backward into I and W, to have more pieces to choose from. Your
# `in_turn` can already do it, because it doesn't ask which way its passes go:


# %%
def pair(rank, way):
    """The backward pass of one micro-batch, and the forward pass of the next."""
    (first, second), _ = two_halves(rank)
    first.rank = first.wire.rank = Paper(SLOW)  # its forward pass was earlier: here, on paper
    halves.one_by_one(first)
    first.rank = first.wire.rank = rank
    way(halves.Backward(first, first.stays.clone()), second)


pairs = {
    "backward, then forward": on_paper(partial(pair, way=halves.one_by_one), SLOW),
    "alternating": on_paper(partial(pair, way=halves.in_turn), SLOW),
}
for name, trace in pairs.items():
    print(f"{name}: {trace.duration:.1f} s")

# %% jupyter={"source_hidden": true}
show(lanes(pairs, "Each of a pair hides what the other one sends"))

# %% [markdown]
# Together they take just as long as their computing. The two messages that were exposed have
# something to hide them now: the first gradients travel while the forward pass computes its first
# piece, and its last combine while the backward pass computes its last one.
#
# ## What can't hide
#
# **The first and the last.** In a step on its own, what is needed first has to arrive before
# anything can be computed, and what is sent after the last piece has nothing to hide it: FSDP's
# first gather, the last combine, the last bucket. Finer pieces make it shorter. But each message
# pays its latency $\alpha$ as well, and a piece that's too small computes slowly.
#
# **A batch too small.** Computing shrinks with the tokens, and so do messages that carry tokens;
# but gathered weights and latencies don't. Here is a layer of the ring above with fewer and fewer
# rows, on a link with a latency of 5 ms. (The code makes the rows narrower, which shortens a
# message just as much.)

# %% jupyter={"source_hidden": true}
predict(
    "hiding_messages-5",
    "Each piece's product takes 40 ms, and each message 20 ms + 5 ms of latency. Now the batch has "
    "an eighth of the rows, and everything but the latency an eighth of its time. What share is "
    "hidden?",
    "still all of it: both became shorter",
    "about two thirds",
    "nothing",
)


# %%
def with_rows(share, link):
    """The ring with a share of the rows: on a link where all of them take 20 ms."""
    width = round(0.02 * share / link.beta / 64)
    return on_paper(partial(layer, seconds=0.04 * share, width=width), link)


late = Link(SLOW.megabits, milliseconds=5)
shares = {rows: hidden(with_rows(rows, late)) for rows in (1, 1 / 2, 1 / 4, 1 / 8, 1 / 16)}
print(
    *(f"{rows:6.4f} of the rows: {share:4.0%} hidden" for rows, share in shares.items()), sep="\n"
)
reveal("hiding_messages-5", share=shares[1 / 8])

# %% [markdown]
# **A link below the bound.** Where $M > C$, at least $M - C$ stays exposed. Then only fewer bytes
# help, as in lesson 17, or more tokens to a message of weights or gradients, or another layout.
#
# **What the message takes from the computing.** A message isn't free even when it's hidden, because
# somebody has to move it. On this machine that's a core. For how long? We let two ranks add up
# tensors, count the seconds in which the processor worked for them, and ask what it could have
# multiplied instead:


# %%
def spent(megabytes, repeats):
    """On a rank: seconds of the processor for an all-reduce, and for a product of 512 x 512."""
    x, square = torch.zeros(megabytes * 250_000), torch.ones(512, 512)
    found = []
    for work in (partial(dist.all_reduce, x), partial(torch.mm, square, square)):
        work()
        dist.barrier()
        begun = time.process_time()
        for _ in range(repeats):
            work()
        found.append((time.process_time() - begun) / repeats)
    return found


# %% tags=["time"] jupyter={"source_hidden": true}
message, product = launch(spent, ranks=2, args=(32, quick(10, 1)), quiet=True, checked=False)[0]
print(f"an all-reduce of 32 MB: {1e3 * message:.0f} ms of a core, or {message / product:.1f} "
      "products of 512 x 512 x 512")  # fmt: skip

# %% [markdown]
# On a GPU it's multiprocessors and memory bandwidth. DeepSeek-V3 gave 20 of an H800's 132
# multiprocessors to its messages ([2412.19437](https://arxiv.org/abs/2412.19437), section 3.2.2):
# products on the other 112 take up to $132/112 = 1.18$ times as long, all the time if they're set
# aside for good. So overlap pays only if the time that it hides is more than this loss, at most 18
# % of the computing. Copy engines, network cards and switches that add by themselves take less from
# the products.
#
# How much of this does a real run get? Steps of Qwen3 235B were timed on 256 H100s with the
# messages to experts overlapped, and without: 17.6 and 19.7 s ([Megatron's
# models](https://github.com/yanring/Megatron-MoE-ModelZoo), `best_practice/Qwen3`). The overlap
# saved 2.1 s. By our model of a cluster ([cluster_model.md](../docs/cluster_model.md)), whose share
# of hidden messages is set by just these two runs, a third of what was possible was saved. The rest
# was probably lost while the pipeline filled and drained, and because computing becomes slower
# during messages. Hiding is worth a lot, and less than it looks on paper.
#
# A run has layers with 9 ms of computing and 6 ms of messages, forward and backward. A pair hides
# the messages, and the multiprocessors for them are set aside for good, so all computing takes 1.18
# times as long. How many milliseconds does a layer take?

# %%
mine = None
answer("hiding_messages-7", mine)

# %% [markdown]
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - A message costs little while its rank computes something that doesn't need it: cores,
#   multiprocessors and bandwidth, but no waiting. In real runs hiding saves a part of what it saves
#   on paper.
# - No order of work makes a step shorter than the longer of $C$ and $M$. The bounds of lesson 10
#   say which it is.
# - What can hide, for pieces of $c$ seconds and messages of $m$:
#
# | what travels | behind what | all of it, if | still exposed then |
# |---|---|---|---|
# | gradients | backward of earlier layers | $m$ is at most a layer's backward | the last bucket |
# | weights | another unit, one ahead | $m \le c$ | the first gather, 1 of $2u - 1$ |
# | activations | the same product for other rows | $m \le c$ | nothing; backward, two gathers |
# | keys and values | another block | $m \le c$ | nothing; backward, the last message home |
# | tokens | the other half of the batch | $m \le c$ | the last combine, 1 of $4L$ |
# | tokens | a backward beside a forward | $m \le c$ | nothing, once the pipeline is full |
#
# - Async tensor parallelism hides all of a gather if a piece's product takes longer than its
#   message.
# - Prefetch one unit ahead. More costs memory, and pays only if units are unequal.
# - A batch that isn't cut can hide the messages of its experts only behind a shared expert or
#   gradients of weights. Two halves can hide all but the last, and so can a forward paired with a
#   backward.
#
# ## In the wild
#
# - torchtitan's `enable_async_tensor_parallel` lets `torch.compile` cut products as you did, with
#   `torch._inductor.config._micro_pipeline_tp`. Its idea is older ([Wang et al.,
#   2023](https://dl.acm.org/doi/10.1145/3567955.3567959)).
# - Megatron-LM hides experts' messages behind another micro-batch with
#   `--overlap-moe-expert-parallel-comm`, and can cut backward with `--delay-wgrad-compute` ([its
#   guide](https://docs.nvidia.com/megatron-core/developer-guide/nightly/user-guide/features/moe_a2a_overlap.html)).
# - [DeepEP](https://github.com/deepseek-ai/DeepEP) has the kernels that send a token once to a
#   node; DeepSeek's [profiles](https://github.com/deepseek-ai/profile-data) show a pair of DualPipe
#   with 64 ranks for the experts and 4,096 tokens.
#
# To read: `FSDPModule.set_modules_to_forward_prefetch` in torch, and in DeepSeek's profile the row
# of the messages.
#
# ## Where next
#
# You've now met what a step is made of. In [lesson 19](19_training_puzzles.ipynb) you put it
# together yourself, on a cluster that you program.
