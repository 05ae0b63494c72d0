# %% [markdown]
# # Long context: many devices share one sequence
#
# *Reading 65 minutes, tasks 55*
#
# *With twenty minutes: do CP-1, skip CP-2 and CP-3, and look at the ring and the zigzag on paper.*
#
# So far we've cut the model and the batch, and with sequence parallelism also the sequence, but
# only between a layer's matrix products. For a long document that isn't enough. Its activations
# grow with its length, and a batch can't be smaller than one sequence, so data parallelism doesn't
# help. Tensor parallelism splits the heads, but it leaves the sequence whole inside attention,
# where every head has a score matrix with a row and a column per token.
#
# **Question.** How can several devices compute the attention of one sequence, when every token may
# look at every earlier one, whichever device that is on?

# %%
import math
import sys

import torch
import torch.distributed as dist

from helpers.check import check, solve
from helpers.draw import curves, lanes
from helpers.lesson import answer, claim, predict, reveal, show, show_code
from helpers.network import Link
from helpers.parallel.context import add_up_gradients, visible
from helpers.ranks import find_place, launch
from helpers.trace import Recorder

# %%
sys.path[:0] = ["../CP/ring", "../CP/ulysses", "../primer"]
import intro
import intro_CP_ring
import online
import pace
from online import Recomputed, finish, merge, partial
from zigzag import contiguous, zigzag

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## A matrix that nobody can store
#
# For one head, attention compares $s$ queries with $s$ keys, all of them vectors of $e$ numbers
# (128 in most models), and mixes the values with the result:
#
# $$S = \frac{QK^{\mathsf T}}{\sqrt e}, \qquad P = \mathrm{softmax}(S) \text{ row by row}, \qquad O
# = PV.$$
#
# $Q$, $K$, $V$ and $O$ have $s \times e$ numbers each, but $S$ and $P$ have $s \times s$. Llama 3.1
# reads up to 131,072 tokens. If you stored the scores of *one* head for one such sequence in 16
# bits, how many GB would they take? (1 GB is 10⁹ bytes.)

# %%
mine = None
answer("long_context-1", mine)

# %% [markdown]
# And that's one of 128 heads in one of the 126 layers of Llama 3.1 405B, so nobody stores them. The
# scores have to be computed in blocks, used, and forgotten. What stands in the way is the softmax,
# whose denominator is a sum over *all* keys.
#
# ## A softmax in pieces
#
# Take one query, whose scores we call $x_1, x_2, \ldots$, and look at only one block of the keys.
# Three things are worth keeping: the largest score $m$, the sum $\ell = \sum_j e^{x_j - m}$, and
# the weighted sum of the values $o = \sum_j e^{x_j - m}\, v_j$, not divided yet. (Subtracting $m$
# changes nothing in the end, but without it, $e^{100}$ is already too large for 32 bits.) If the
# block holds all keys, the attention is $o/\ell$.

# %% jupyter={"source_hidden": true}
predict(
    "long_context-2",
    "For one query we have the attention over the first half of the keys, o / l, and that over the "
    "second half. Are these two vectors enough to compute the attention over all keys?",
    "yes: take their mean",
    "yes: add them up",
    "no",
)

# %%
torch.manual_seed(0)
q, k, v = torch.randn(1, 4), torch.randn(6, 4), torch.randn(6, 4)
open_mask = torch.ones(1, 3, dtype=torch.bool)
halves = [partial(q, k[n : n + 3], v[n : n + 3], open_mask) for n in (0, 3)]
first, second = (finish(half)[0] for half in halves)
right = torch.softmax(q @ k.T / math.sqrt(4), -1) @ v

# %% jupyter={"source_hidden": true}
for name, found in (("all six keys", right), ("mean of halves", (first + second) / 2)):
    print(f"{name:14}", *(f"{number:6.3f}" for number in found[0].tolist()))
for name, half in zip(("first", "second"), halves, strict=True):
    print(f"{name:6} half has m = {half.m.item():.2f} and l = {half.l.item():.2f}")
reveal("long_context-2")

# %% [markdown]
# With $m$ and $\ell$ it works. Two blocks with $(o_1, m_1, \ell_1)$ and $(o_2, m_2, \ell_2)$ were
# summed with different $m$, so we bring both to the larger one first:
#
# $$m = \max(m_1, m_2), \qquad \ell = e^{m_1 - m}\,\ell_1 + e^{m_2 - m}\,\ell_2, \qquad o = e^{m_1 -
# m}\,o_1 + e^{m_2 - m}\,o_2.$$
#
# Neither factor is above 1, so nothing overflows. For $m$ and $\ell$ this is the **online softmax**
# ([1805.02867](https://arxiv.org/abs/1805.02867)), and FlashAttention carries $o$ along. The blocks
# may come in any order, and from anywhere.
#
# ### Your turn: CP-1 · 15 minutes · 10 points
#
# Write `merge()` in `CP/ring/online.py`. One case needs care: a query that hasn't seen any key yet
# has $m = -\infty$.

# %%
check("CP-1")

# %% [markdown]
# Let's try it on 512 keys, block by block, with scores so large that a plain `exp` overflows.

# %%
q, k, v = (torch.randn(64, 16) for _ in range(3))
k, v = torch.cat([k] * 8) + torch.randn(512, 16), torch.randn(512, 16)
q = 40 * q
found, every = None, torch.ones(64, 64, dtype=torch.bool)
for n in range(0, 512, 64):
    part = partial(q, k[n : n + 64], v[n : n + 64], every)
    found = part if found is None else merge(found, part)
right = torch.softmax(q @ k.T / 4, -1) @ v
plain = (q @ k.T / 4).exp()
print("plain exp:", "overflows" if plain.isinf().any() else "is fine")
far = (finish(found)[0] - right).abs().max().item()
print(f"eight blocks, merged: away from the softmax of all: {far:.1e}")
assert far < 1e-5

# %% [markdown]
# **FlashAttention** ([2205.14135](https://arxiv.org/abs/2205.14135)) is this loop inside one GPU
# kernel: a block of scores stays in the chip's fast memory and is never written out.
#
# So blocks get rid of the scores' memory. But they save no computing: twice the tokens take four
# times as long, and the activations still grow with the length. For a long sequence we need many
# devices for one attention.
#
# How many? Backward needs some 34 bytes for each number of the width and each token of a layer
# ([2205.05198](https://arxiv.org/abs/2205.05198), without the scores), so a GPT layer as wide as
# those of Llama 3.1 8B, 4,096, keeps 18 GB of one sequence of 131,072 tokens, and 32 such layers
# keep 584 GB. On 16 ranks it's 37 GB each. Tensor parallelism cuts them as well, and the weights
# besides, but it talks twice in every layer, forward and backward, and ends at the number of heads.
# So a run takes tensor parallelism within a node first, and the ranks of this lesson beyond it.
#
# ## The ring
#
# **Context parallelism** gives each rank some positions of every sequence. Norms, projections and
# the MLP treat each position on its own, so until their weights' gradients are summed they need no
# message. Only attention does: each rank has its own queries, but it needs everybody's keys and
# values, one block at a time and in any order. So we arrange the ranks in a ring, where the queries
# stay and the blocks of keys and values travel. This is **ring attention**
# ([2310.01889](https://arxiv.org/abs/2310.01889)).
#
# ![Four ranks in a ring, in four steps. Each keeps its queries. In step 0 it has its own keys and
# values, and in each step it hands those that it has to the next rank, so in step t rank r has
# those of rank r - t. After the last step nothing is sent.](../imgs/attention_ring.svg)
#
# After $i$ steps, rank $r$ has the block of rank $r - i$ (counted around the ring). While it
# computes with that block, the block is already on its way to the next rank. So if a block takes
# longer to compute than to send, the messages cost nothing. With $n$ ranks, $h$ query heads, $g$
# key heads, $s/n$ tokens per rank, $F$ FLOP/s and $B$ bytes per second, that's the case for a block
# without a mask if
#
# $$\frac{4\,h\,e\,(s/n)^2}{F} \;\ge\; \frac{4\,g\,e\,(s/n)}{B} \quad\Longleftrightarrow\quad
# \frac{s}{n} \;\ge\; \frac gh \cdot \frac FB.$$
#
# (The two fours agree by coincidence: on the left, two matrix products with two FLOPs per term; on
# the right, two tensors with two bytes per number.) An H100 computes at about 400 TFLOP/s, and its
# network card sends 50 GB/s. With as many key heads as query heads and no mask, what is the
# smallest number of tokens per rank at which the messages cost nothing? (400 is what a whole step
# reaches; FlashAttention-3 alone reaches up to 740, and then every bound is 1.9 times as high.)

# %%
mine = None
answer("long_context-4", mine)

# %% [markdown]
# ### Your turn: CP-2 · 30 minutes · 15 points
#
# Write `ring_forward()` in `CP/ring/ring_attention.py`. Each step passes on, computes, merges and
# waits. Order matters: start the message before you compute, and send nothing in the last step.

# %%
check("CP-2")

# %% [markdown]
# Now compare four real ranks with one device, in float64, with a causal mask and two query heads
# for each key head:


# %%
def whole_sequence(length=64, dtype=torch.float64):
    draw = torch.Generator().manual_seed(0)
    return [torch.randn(1, h, length, 8, generator=draw, dtype=dtype) for h in (4, 2, 2, 4)]


def ring_on_a_rank(cut, documents=None):
    """On a rank: its positions, and its queries' attention."""
    from ring_attention import Ring, ring_attention

    ring = Ring(recorder=Recorder(dist.get_rank(), enabled=False))
    positions = [cut(64, ring.size, rank) for rank in range(ring.size)]
    parts = [t[:, :, positions[ring.rank]] for t in whole_sequence()[:3]]
    with torch.no_grad():
        found = ring_attention(ring, positions, documents)(*parts)
    return positions[ring.rank], found


# %%
from simplellm.blocks import attend

right = attend(*whole_sequence()[:3])
far = [
    (found - right[:, :, mine]).abs().max().item()
    for mine, found in launch(ring_on_a_rank, ranks=4, args=(contiguous,), quiet=True)
]
off = max(far)
print(f"four ranks, the largest difference from one device: {off:.1e}")
assert off < 1e-12

# %% [markdown]
# ## Who has how much work?
#
# A token looks only at what stands before it, so the first rank's queries have few keys to look at
# and the last rank's have many. But the ring moves in step: a rank can't go on to its next block
# before its neighbors are ready to send and to receive.

# %% jupyter={"source_hidden": true}
predict(
    "long_context-5",
    "Four ranks hold contiguous parts of a causal sequence. For about what share of the ring's "
    "time does rank 0 compute?",
    "all of it, like every rank",
    "a half",
    "a seventh",
)

# %%
seconds = quick(0.4, 0.02)  # of a whole block
forward = pace.predicted(contiguous, 4, seconds)
busy = [sum(e.duration for e in forward.events_of(r) if e.kind == "F") for r in range(4)]
shares = [time / forward.duration for time in busy]

# %% jupyter={"source_hidden": true}
print("busy: " + ", ".join(f"rank {rank} {share:.0%}" for rank, share in enumerate(shares)))
reveal("long_context-5")

# %% [markdown]
# Rank 0 can see only its own block, and only half of that, while rank 3 needs three and a half
# blocks. The cure is to hand out the positions differently, and we're free to do so, because no
# other layer cares which positions a rank holds.
#
# ### Your turn: CP-3 · 10 minutes · 5 points
#
# Write `zigzag()` in `CP/ring/zigzag.py`: two chunks for each rank, an early one and a late one, so
# that all ranks have the same number of pairs to compute.

# %%
check("CP-3")

# %% [markdown]
# The ring is only as fast as its slowest rank, which has 3.5 blocks to compute with contiguous
# parts and 2 in a zigzag: 1.75 times as fast, if time is proportional to the pairs in a block, and
# messages cost nothing.

# %%
predicted = {
    name: pace.predicted(cut, 4, seconds)
    for name, cut in (("contiguous", contiguous), ("zigzag", zigzag))
}
before, after = (trace.duration for trace in predicted.values())

# %% jupyter={"source_hidden": true}
show(lanes(predicted, f"On paper the zigzag is {before / after:.2f} times as fast"))

# %% [markdown]
# In the contiguous ring, rank 0 has computed everything after its first block and then only passes
# blocks on, and in the end rank 3 works alone. In the zigzag all ranks are busy to the end. (That's
# on paper; "When a ring can lose" runs your zigzag on real ranks.) Here is why:
#
# ![The causal triangle of eight chunks of queries and keys, in the color of the rank that has the
# queries. Contiguous: the ranks have 2, 6, 10 and 14 of the 32 squares. Zigzag: each has
# 8.](../imgs/causal_triangle.svg)
#
# The triangle is the work: each small square is a chunk of queries against a chunk of keys, in the
# color of the rank that has the queries. With contiguous parts, the last rank has 14 of the 32
# squares (one on the diagonal counts half), and the ring takes as long as the last rank. In a
# zigzag every rank has 8. For $n$ ranks, in units of a block (four squares), that is
#
# $$T_{\text{contiguous}} = n - \tfrac12, \qquad T_{\text{zigzag}} = \tfrac n2, \qquad \frac{T_{
# \text{contiguous}}}{T_{\text{zigzag}}} = 2 - \frac1n.$$
#
# A zigzag's block has only half of the pairs to compute, and its keys still travel whole. So with a
# causal mask the bound is twice as high, $s/n \ge 2\,(g/h)\,F/B$: 16,000 tokens instead of 8,000.
#
# Another way to balance is a **stripe**, where each rank has every $n$-th position
# ([2311.09431](https://arxiv.org/abs/2311.09431)). It balances the pairs about as well, but then
# every block has a triangle in it. In a zigzag that's true only of a rank's own block. In every
# other block, half of the rows or half of the columns are masked completely, which is easy to skip.
#
# — *With ninety minutes, stop here.* —
#
# ## Backward: compute it again
#
# Training needs the gradients, and the usual backward pass of attention needs $P$, the matrix that
# nobody stores. FlashAttention's other idea is to compute it **again**, block by block. With
# $L = m + \log \ell$, which is one number for each query, $P = e^{S - L}$ comes back from $Q$ and
# $K$ without a maximum and without a sum. From there it's the chain rule. The only unusual part is
# the softmax: its rows add up to 1, so pushing one weight up pushes all others down:
#
# $$dV = P^{\mathsf T} dO, \qquad dP = dO\,V^{\mathsf T}, \qquad dS = P \odot (dP - D), \qquad D_i =
# \sum_j P_{ij}\,dP_{ij} = dO_i \cdot O_i,$$
#
# $$dQ = \frac{dS\,K}{\sqrt e}, \qquad dK = \frac{dS^{\mathsf T} Q}{\sqrt e}.$$
#
# These are four products of $s \times s \times e$. Computing the scores again is a fifth product,
# so backward needs 25 % more FLOPs than with $P$ at hand.
#
# `block_gradients()` in `CP/ring/online.py` is these lines, and `Recomputed` is attention that
# keeps $L$ and the result, and no scores.


# %%
def kept_by(attention, s):
    """What one head keeps for backward, in MB."""
    q, k, v = (torch.randn(1, s, 64, requires_grad=True) for _ in range(3))
    sizes = {}

    def note(tensor):
        sizes[tensor.data_ptr()] = tensor.nbytes
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        result = attention(q, k, v, lambda: torch.ones(s, s, dtype=torch.bool).tril())
    del result
    return sum(sizes.values()) / 1e6


def plainly(q, k, v, mask_of):
    return torch.softmax(online.scores(q, k, mask_of()), -1) @ v


# %%
lengths = (128, 256, 512, 1024)
kept = {
    name: {s: kept_by(way, s) for s in lengths}
    for name, way in (("scores kept", plainly), ("recomputed", Recomputed.apply))
}

# %% jupyter={"source_hidden": true}
title = "Without scores, memory grows with the length and not with its square"
show(curves(kept, title, x="tokens", y="MB kept by one head", log="xy"))

# %% [markdown]
# In the ring, backward goes around once more. Keys and values travel again, together with their
# gradients: each rank adds its own term to the gradient of the block that it has, and after $n$
# messages the gradient is back home. So backward sends $2n - 1$ blocks where forward sends $n - 1$:
# on four ranks 2.3 times as many, and with many ranks about twice as many. It computes five
# products instead of two, so if gradients have 2 bytes it needs 0.8 of the tokens to hide them, all
# but the last message home. (Ours adds them up in 32 bits, and then it's 1.2.) `ring_backward` does
# this with `block_gradients`, which `block_back` calls:

# %% jupyter={"source_hidden": true}
show_code("CP/ring/ring_attention.py", "ring_backward", "for step", "k, v = arrived()")

# %% [markdown]
# Does it hold with your zigzag, and with **packed documents**, several texts in one sequence that
# mustn't look at each other?


# %%
def ring_with_gradients(cut, documents):
    from ring_attention import Ring, ring_attention

    ring = Ring(recorder=Recorder(dist.get_rank(), enabled=False))
    positions = [cut(64, ring.size, rank) for rank in range(ring.size)]
    mine = positions[ring.rank]
    *parts, gradient = (t[:, :, mine].clone() for t in whole_sequence())
    parts = [part.requires_grad_() for part in parts]
    found = ring_attention(ring, positions, documents)(*parts)
    return mine, torch.autograd.grad(found, parts, gradient)


# %%
documents = (torch.arange(64) % 23 == 0).cumsum(0)[None]  # three texts, of 23, 23 and 18 tokens
*three, gradient = whole_sequence()
three = [t.requires_grad_() for t in three]
everything = torch.arange(64)
one = attend(*three, mask=visible(everything, everything, documents))
right = torch.autograd.grad(one, three, gradient)
for mine, found in launch(ring_with_gradients, ranks=4, args=(zigzag, documents), quiet=True):
    far = max((a - b[:, :, mine]).abs().max().item() for a, b in zip(found, right, strict=True))
    print(f"positions {mine[0]:2} … and {mine[8]:2} …: gradients differ by: {far:.1e}")
    assert far < 1e-12

# %% [markdown]
# ## Two rivals
#
# **DeepSpeed-Ulysses** ([2309.14509](https://arxiv.org/abs/2309.14509)) makes use of the fact that
# heads don't look at each other. Before attention, each rank has all heads of some positions. An
# all-to-all turns that into some heads of *all* positions, ordinary attention runs on them, and a
# second all-to-all turns the result back.
#
# **Gather**, Llama 3's way, is even simpler: all-gather the keys and values, and let each rank
# attend with its own queries. All keys are in one place, in the order of the ranks, so a single
# mask says who may see whom, documents included. This is all of it:

# %% jupyter={"source_hidden": true}
show_code("CP/ulysses/heads.py", "gathered_attention")

# %% [markdown]
# Backward, `all_gather` becomes a reduce-scatter of the gradients of keys and values.
#
# With $h$ query heads and $g$ key heads, this is what a rank sends, counted in vectors of $e$
# numbers:
#
# | | forward | backward | limited by |
# |---|---|---|---|
# | ring | $2g\,(n-1)\,s/n$, hidden | $2g\,(2n-1)\,s/n$, all but the last message hidden | – |
# | gather | $2g\,(n-1)\,s/n$, before it computes | as much, after it | memory for all keys |
# | Ulysses | $(2h + 2g)\,\frac{n-1}{n}\,s/n$ | as much | at most $h$ ranks |
#
# Forward, ring and gather send the same bytes. What Ulysses sends depends on heads and ranks:


# %%
print("MB that a rank sends for one layer of 131,072 tokens, forward, with 32 query heads of 128")
for g in (32, 8):
    for n in (4, 16):
        head = 131_072 / n * 128 * 2 / 1e6  # MB of one head of a rank's tokens
        keys = max(g, n)  # fewer key heads than ranks: copies
        ring, ulysses = 2 * g * (n - 1) * head, (2 * 32 + 2 * keys) * (n - 1) / n * head
        print(f"{g:2} key heads, {n:2} ranks: ring {ring:5,.0f}, Ulysses {ulysses:5,.0f}")

# %% [markdown]
# A ring's volume doesn't shrink with $n$, because every rank must see all keys. An all-to-all sends
# each number once, to the one rank that needs it, so its volume falls like $1/n$ while there are
# key heads for all ranks. Forward, the ring sends
#
# $$\frac{g\,n}{h + g}$$
#
# times as much as Ulysses. If every query head has a key head of its own ($g = h$), that's $n/2$.
# Grouped queries change the picture. Llama 3 405B has $h = 128$ and $g = 8$, of which tensor
# parallelism of 8 leaves a rank 16 query heads and one key head. With fewer key heads than ranks
# Ulysses has to send copies of them, and the ratio becomes $gn/(h+n)$. For Llama's 16 ranks that's
# one half, so it's cheaper to send keys and values around than to exchange all heads. But the
# formula counts bytes, not time. A ring sends them while it computes, whereas an all-to-all and a
# gather, as we've written them, have to be finished before anything is computed.
#
# ## When a ring can lose
#
# **In the forward pass, the ranks of our ring may have to wait for a neighbor in every step but the
# last, while those of a gather wait only once.** Llama 3 405B had 8,192 tokens on each rank and
# $g/h = 1/16$, so at $F/B = 8{,}000$ a ring would have needed only $2 \cdot 8{,}000/16 = 1{,}000$
# tokens to hide its messages. It used a gather anyway. Its report names two reasons: a gather is
# simpler with masks such as those of documents, and it doesn't take long, since keys are few
# (section 3.3.2). There's a third that we can measure. Sequences for training are packed: several
# documents that mustn't look at each other. A zigzag balances every step of the ring if there's one
# document. With several, some blocks may hold a lot of work and others none, and which ones these
# are differs from rank to rank.

# %% jupyter={"source_hidden": true}
predict(
    "long_context-9",
    "Four documents of equal length on four ranks, in a zigzag. Every rank has the same work to "
    "compute. A message takes a 24th of a whole block's time. Which is faster forward?",
    "the ring: it hides its messages",
    "the gather",
    "equally fast, since they send and compute the same",
)

# %% [markdown]
# Four ranks can't compute at once on a laptop's few cores, but they can *sleep* at once. So these
# ranks run your ring, with real messages, and sleep for as long as a block would take. (For Llama 3
# a message takes a 16th of a block: 500/8,192 without a mask.)

# %% tags=["time"]
LINK, BLOCK = Link(2), quick(0.8, 0.04)
MESSAGE, both = BLOCK / 24, {}


def compare(name, paper, real, documents):
    def seconds():
        ranks = launch(
            real, 4, (zigzag, BLOCK, documents, LINK, MESSAGE), quiet=True, checked=False
        )
        both[name] = ranks[0].merged(*ranks[1:])
        return both[name].duration

    claim(name, seconds, paper(zigzag, 4, BLOCK, documents, MESSAGE).duration, unit=" s")


four = torch.arange(4).repeat_interleave(64)[None]
for texts, documents in (("one document", None), ("four documents", four)):
    compare(f"{texts}, ring", pace.predicted, pace.measured, documents)
    compare(f"{texts}, gather", pace.predicted_gather, pace.measured_gather, documents)
    faster = min(("ring", "gather"), key=lambda way, of=texts: both[f"{of}, {way}"].duration)
    print(f"{texts}: the {faster} is faster")

# %% tags=["time"]
names = [name for name in both if "four" in name]
title = "With four documents, the ranks of a ring in a zigzag are idle in turn"
show(lanes({name: both[name] for name in names}, title))
reveal("long_context-9", ratio=both[names[0]].duration / both[names[1]].duration)

# %% [markdown]
# With one document the ring wins because it hides its messages. With four it loses, although in
# this example all ranks still have the same amount of work. Ranks 1 and 3 have their second block
# in step 1, ranks 0 and 2 in step 3, and each step takes as long as its longest block, or as its
# message if that's longer. In general not even the sums are equal (with the three documents above,
# rank 2 has 267 pairs and each other rank 152), and then a gather waits for the busiest rank, too.
# Cutting each document into a zigzag of its own balances both, and so does a stripe, if documents
# are much longer than $n$ tokens: with these four its ring would take 0.43 s, less than the
# gather's 0.51. So a ring wins where blocks are large and equal, Ulysses where there are enough
# heads, and a gather where keys are few and a mask leaves the blocks unequal. Real systems also
# combine them, for example with Ulysses inside a machine and a ring between machines
# ([2405.07719](https://arxiv.org/abs/2405.07719)).
#
# ## Find the bug
#
# A LLaMA knows where a token stands because RoPE rotates its query and its key by angles
# proportional to its position, and what counts in a score is the distance between the two tokens.
# Now each rank has a quarter of the sequence, and its code sees a tensor of $s/4$ tokens.

# %% jupyter={"source_hidden": true}
predict(
    "long_context-10",
    "Each of four ranks numbers its own positions from 0. What happens?",
    "nothing: only the distance of two tokens matters",
    "an error: the tables have the wrong size",
    "no error, and a higher loss",
)

# %% jupyter={"source_hidden": true}
from simplellm.dataloaders import TinyStories
from simplellm.models import pretrained

# %%
tokenizer, net = pretrained("best")
sizes = {"batch_size": 16, "seq_l": 256, "world": "small"}
ids = next(iter(TinyStories(tokenizer, **sizes, split="validation", quiet=True)))


def losses_by_position(positions):
    with torch.no_grad():
        logits = net(ids, positions=positions)
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].mT, ids[:, 1:], reduction="none")
    return loss.mean(0).unflatten(0, (-1, 15)).mean(1).tolist()


# %%
where = torch.arange(256)
both = {
    "numbered by each rank": losses_by_position(where % 64),
    "numbered in the sequence": losses_by_position(where),
}
at = [15 * n + 7 for n in range(17)]
lines = {name: dict(zip(at, line, strict=True)) for name, line in both.items()}
wrong, right = (sum(line) / len(line) for line in both.values())

# %% jupyter={"source_hidden": true}
print(f"loss {wrong:.2f} with each rank's own positions, {right:.2f} with the right ones")
title = "From position 64 on, wrong positions are worse than hardly any context"
show(curves(lines, title, x="position", y="loss (nats)"))
reveal("long_context-10", wrong=wrong, right=right)

# %% [markdown]
# All shapes fit, so nothing crashes. The first quarter of the text is read as well as ever, since
# it looks at nothing but itself, and within a rank all distances are right. For every later
# quarter, the distances to the ranks before it are wrong. So positions must travel with the tokens:
# `net(ids[:, mine], positions=mine)`. The **targets** need the same care: the token after a rank's
# last position lives on another rank, so shift first and cut afterwards.
#
# ## It trains
#
# Now we train the whole model on a grid of two replicas, each made of two ranks that share their
# sequences. (`Grid(dp=2, cp=2)` puts neighboring ranks into one replica.) Gradients are summed over
# the ranks of a sequence, because each has a term of the same mean, and averaged over the replicas.

# %% jupyter={"source_hidden": true}
flags = ["--steps", quick("8", "2"), "--layers", "2", "--batch-size", "1"]
SGD = ["--optimizer", "sgd", "--lr", "0.3"]
pair = [*flags, *SGD, "--batch-size", "2", "--like-ranks", "2"]

# %%
alone, whole, _ = intro.train(intro.read_flags(pair), lambda step, loss: None)


def train_rank(flags, add_up=add_up_gradients):
    """On a rank: losses and weights."""
    options = intro_CP_ring.read_flags([*flags, "--cp", "2"])
    place = find_place()
    losses, net, _ = intro_CP_ring.train(options, place, "cpu", lambda *_: None, add_up=add_up)
    return losses, net.state_dict()


# %%
grid = launch(train_rank, ranks=4, args=([*flags, *SGD],), quiet=True)
far = max((grid[0][1][name] - w).abs().max().item() for name, w in whole.state_dict().items())
print("one device:      ", *(f"{loss:.4f}" for loss in alone))
means = [(a + b) / 2 for a, b in zip(grid[0][0], grid[2][0], strict=True)]

# %% jupyter={"source_hidden": true}
print("CP x DP, 2 and 2:", *(f"{loss:.4f}" for loss in means))
print(f"largest difference of a weight after the training: {far:.1e}")
assert far < 1e-5

# %% jupyter={"source_hidden": true}
predict(
    "long_context-11",
    "A colleague averages the gradients over all four ranks, as in data parallelism. They train "
    "with Adam. What does the loss curve show?",
    "half the progress",
    "next to nothing",
    "it diverges",
)


# %%
def mean_of_all(net, replicas):
    for p in net.parameters():
        dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)


ways = (add_up_gradients, mean_of_all)
curve = [launch(train_rank, 4, (flags, way), quiet=True)[0][0] for way in ways]
by_sgd = launch(train_rank, 4, ([*flags, *SGD], mean_of_all), quiet=True)[0][1]
apart = max(abs(a - b) for a, b in zip(*curve, strict=True))
moved = max((by_sgd[name] - w).abs().max().item() for name, w in whole.state_dict().items())

# %% jupyter={"source_hidden": true}
print(f"Adam: the two loss curves are at most {apart:.1e} apart")
print(f"SGD:  a weight is {moved:.1e} away from one device's, where it was {far:.0e}")
reveal("long_context-11")

# %% [markdown]
# All gradients are half of what they should be, but Adam divides every gradient by its own size. A
# mistake like this can survive a whole training run and shows only where sizes matter, for instance
# in gradient clipping. So compare with one device, and do it with SGD.
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - If you keep $(o, m, \ell)$ of each block, you can merge blocks in any order, so nobody has to
#   hold all scores at once, neither one GPU nor a cluster.
# - Recomputing the scores costs backward a fifth product and saves memory that grows with $s^2$.
# - In a ring, queries stay, and keys and values travel while the ranks compute. That costs nothing
#   if a rank has enough tokens.
# - With contiguous parts, a causal mask gives the last rank the most to do. For one document a
#   zigzag balances it: $2 - 1/n$ times as fast.
# - Ring and gather send $2g$ heads to everyone, Ulysses sends all heads once. Few key heads favor
#   ring and gather; many ranks favor Ulysses, if there is more than one key head.
# - Positions and targets belong to the whole sequence: find them before you cut.
# - Gradients are summed over the ranks of a sequence and averaged over replicas.
#
# ## In the wild
#
# - In its last stages, Llama 3 405B was trained on sequences of 131,072 tokens with a
#   context-parallel degree of 16, next to tensor parallelism of 8, 16 pipeline stages and 8
#   replicas on 16,384 H100s. It gathers keys and values, and cuts each sequence into $2n$ chunks,
#   as your zigzag does ([2407.21783](https://arxiv.org/abs/2407.21783), section 3.3.2 and table 4).
# - Balancing the mask by stripes made training on 256k tokens up to 1.45 times faster than the
#   plain ring ([2311.09431](https://arxiv.org/abs/2311.09431), abstract). That's for whole training
#   steps; for attention alone the bound is $2 - 1/n$.
# - DeepSpeed-Ulysses reported sequences four times as long as the system before it, at 2.5 times
#   its speed ([2309.14509](https://arxiv.org/abs/2309.14509), abstract).
#
# To read in Megatron-LM: `get_batch_on_this_cp_rank` in `megatron/core/utils.py`. In recent
# versions it only chooses between ways to cut a batch, so follow it to the dozen lines with
# `2 * cp_size`: that's your `zigzag`. In PyTorch, `_SDPAMerger` is your `merge`, with $o/\ell$ and
# $L$ in place of $(o, m, \ell)$, and `_templated_ring_attention` has the loop of your ring. (By
# default, though, its first step all-gathers all keys and values; `set_rotate_method("alltoall")`
# passes them from rank to rank instead.) Both are in `_context_parallel/_attention.py` of
# `torch/distributed/tensor/experimental`.
#
# ## Where next
#
# Here keys and values traveled so that tokens could meet. In [lesson 16](16_experts.ipynb) the
# tokens themselves travel, each to the experts that a router has chosen for it.
