# %% [markdown]
# # Rooflines: when can sending hide?
#
# *Reading 45 minutes, tasks 0*
#
# *With twenty minutes: "Two numbers", "One derivation", and the table of six bounds.*
#
# Lesson 03 left a question open. Averaging gradients takes time, and so does computing them, and
# the two can happen at once. When is the averaging free? Every other way to share the work has the
# same question: FSDP gathers weights, a pipeline passes activations on, tensor parallelism sums
# them, ring attention passes keys and values around, and tokens are routed to experts.
#
# It would be bad news if each of them needed an analysis of its own. It doesn't. Two numbers of the
# machine and one line of algebra answer the question for all six, and tell you what to change if
# the answer is no: more tokens, fewer ranks, or a wider model.
#
# **Question.** When can a message hide behind computing, and what decides it?

# %%
import time

import torch
import torch.distributed as dist

from helpers.cost.rates import H100, RATES
from helpers.draw import curves
from helpers.lesson import answer, claim, predict, reveal, show
from helpers.network import Link, slow_link
from helpers.ranks import launch
from helpers.trace import Trace

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## Two numbers
#
# **A machine is described by how many FLOPs it computes while it moves one byte.** Say a device
# computes $F$ FLOP/s and a wire carries $B$ bytes/s. If a piece of work needs $C$ FLOPs and $S$
# bytes, computing takes $C/F$ and moving $S/B$. Done at the same time, they take as long as the
# longer of the two:
#
# $$T = \max\Bigl(\frac{C}{F},\ \frac{S}{B}\Bigr), \qquad \text{computing is the longer one if}
# \qquad \frac{C}{S} \;\ge\; \frac{F}{B}.$$
#
# The left side, FLOPs per byte, belongs to the work and is called its **arithmetic intensity**. The
# right side belongs to the machine. Drawn over the intensity, the FLOP/s that you get rise along
# the wire's slope and then stay flat at $F$, like a roof: hence **roofline**.
#
# The first wire of every device is the one to its own memory. Multiply $t$ rows by a matrix of
# $d \times d$ weights: $2td^2$ FLOPs, while at least the $4d^2$ bytes of the weights (in 32 bits)
# have to come from memory. So the intensity is $t/2$, and few rows must wait for memory. Here is
# that roof for one core of your machine. We take $B$ from the product with one row, $F$ from that
# with the most:

# %% tags=["time"]
d = quick(4096, 512)
weights = torch.randn(d, d)


def seconds(rows):
    x, best = torch.randn(rows, d), float("inf")
    for _ in range(4):
        begun = time.perf_counter()
        x @ weights
        best = min(best, time.perf_counter() - begun)
    return best


reached = {rows: 2 * rows * d * d / seconds(rows) / 1e9 for rows in (1, 2, 4, 8, 16, 32, 64, 128)}
F, B = max(reached.values()), reached[1] * 2  # GFLOP/s, and GB/s: 4 bytes for 2 FLOPs
roof = {rows: min(F, B * rows / 2) for rows in reached}
print(f"F = {F:.0f} GFLOP/s, B = {B:.0f} GB/s, so F/B = {F / B:.1f} FLOPs a byte")

# %% tags=["time"]
title = "Few rows wait for memory, many rows for the core"
show(curves({"measured": reached, "roof": roof}, title, x="rows", y="GFLOP/s", log="xy"))

# %% [markdown]
# The roof is an upper limit. Its two ends are where we measured it; in between a real product stays
# below, because its library copies the weights into a better order first, which pays only for many
# rows. The slope is the point: a device gets its FLOP/s only from work that reuses each byte often
# enough.
#
# Between devices the wires are slower, so $F/B$ is larger. These are the numbers that all lessons
# use ([helpers/cost/rates.py](../helpers/cost/rates.py) has their sources). *Peak* is the data
# sheet's figure for 16 bits, without sparsity. *Reached* is what whole training steps of large
# models got on A100s and H100s, and the same share of the peak on newer devices. *Inside* is NVLink
# in one direction, *between* a network card of 400 Gbit/s (an A100's: 200):

# %%
print("TFLOP/s      peak  reached    GB/s: memory  inside  between    F/B: memory  inside  between")
for name, each in RATES.items():
    wires = each.memory, each.inside, each.between
    print(f"{name:8}{each.peak / 1e12:9,.0f}{each.reached / 1e12:9,.0f}       "
          + "".join(f"{wire / 1e9:8,.0f}" for wire in wires) + "       "
          + "".join(f"{each.peak / wire:9,.0f}" for wire in wires))  # fmt: skip

# %% [markdown]
# Two factors of two hide in such figures. NVLink's 900 GB/s of an H100 are the sum of both
# directions, and the 1,979 TFLOP/s on its data sheet need sparse matrices. Keep three ratios in
# mind. An H100 at its peak does 2,200 FLOPs per byte of NVLink and **19,780 per byte of its network
# card**. But if all eight GPUs of a node work for the same collective, all eight cards carry it:
# 2,470.
#
# Neither side reaches its data sheet. In our cluster model ([docs](../docs/cluster_model.md)),
# which is fitted to published runs, products reach 0.6 of the peak, collectives 0.73 of a card and
# 0.82 of NVLink. So while a device computes, the real $F/B$ is about a fifth lower than the peak's
# over a card, 16,260. (A step's average, *reached*, would flatter: it also counts the time in which
# nothing was computed.)
#
# ## One derivation
#
# **All of the sending can hide only if the FLOPs done for each byte sent are at least $F/B$.**
# That's the roofline once more, with the network as the wire. Count the FLOPs of a piece of work,
# count the bytes that travel meanwhile, and see what's left on the left side. Most of it cancels.
#
# Take data parallelism. A replica of $P$ weights reads $t$ tokens. Backward multiplies and adds
# each weight twice per token, once for the gradient of the layer's input and once for the weight's
# own: $4Pt$ FLOPs. A ring of many ranks sends the gradients nearly twice (lesson 03), $2 \cdot 2P$
# bytes if each has 2 bytes. So
#
# $$\frac{4Pt}{4P} \;\ge\; \frac FB \qquad\Longleftrightarrow\qquad t \;\ge\; \frac{F}{B}.$$
#
# The model has canceled: a larger one computes longer and sends longer in the same proportion. All
# that counts is **how many tokens a replica reads**, and the bound is the ratio itself: 2,200
# tokens inside a node, 19,780 over one card. (With $n$ ranks it's $(n-1)/n$ of that, since a ring
# sends each byte $2(n-1)/n$ times. With gradients of 4 bytes it's twice that. Attention scores,
# which backward computes as well, lower it: by 4 % for Llama 3 405B, more for small models with
# long sequences.)

# %% jupyter={"source_hidden": true}
predict(
    "rooflines-1",
    "Llama 3 405B trained on 16,384 H100s with 16.8 million tokens a step. Suppose each GPU were a "
    "replica of its own and averaged gradients of 2 bytes in one ring through its network card. At "
    "the peak and without latency, how long does averaging take, next to backward?",
    "less: 405 billion parameters give backward a lot to compute",
    "about as long",
    "nearly 20 times as long",
)

# %% [markdown]
# Let's see whether real processes obey. Four ranks pretend to be H100s and their cards, both 50,000
# times slower, so that $F/B$ stays what it is. For computing, a rank sleeps as long as such a
# device would need; gloo averages the gradients, and `slow_link` holds them back until the slow
# ring would have delivered them. So what we measure is the overlap.

# %%
F, B = H100.peak / 50_000, H100.between / 50_000
P, LAYERS, RANKS = quick(180_000, 18_000), 4, 4


def paced_step(tokens, overlap):
    gradients = [torch.zeros(P // LAYERS, dtype=torch.bfloat16) for _ in range(LAYERS)]
    with slow_link(Link.of(0, 1 / B)):
        dist.barrier()
        begun, sent = time.perf_counter(), []
        time.sleep(2 * P * tokens / F)  # forward
        for gradient in gradients:
            time.sleep(4 * gradient.numel() * tokens / F)  # backward of one layer
            sent.append(dist.all_reduce(gradient, async_op=True))
            if not overlap:
                sent[-1].wait()
        for work in sent:
            work.wait()
        return time.perf_counter() - begun


# %% [markdown]
# What should come out? If the two take turns, their times add up. If they overlap, backward and
# sending take as long as the longer of the two, and one layer stays exposed: the first in
# backward's order computes before there is anything to send, or the last one sends when nothing is
# left to compute.


# %%
def predicted_step(tokens, overlap):
    forward, backward = 2 * P * tokens / F, 4 * P * tokens / F
    send = 2 * (RANKS - 1) / RANKS * 2 * P / B
    if not overlap:
        return forward + backward + send
    return forward + max(backward + send / LAYERS, backward / LAYERS + send)


# %% tags=["time"]
bound = (RANKS - 1) / RANKS * F / B
for tokens in (1_024, round(bound), round(2 * bound)):
    for way, overlap in (("in turn", False), ("overlapped", True)):

        def slowest(given=(tokens, overlap)):
            return max(launch(paced_step, RANKS, given, quiet=True, checked=False))

        words = f"{tokens:,} tokens, {way}"
        took = claim(words, slowest, predicted_step(tokens, overlap), unit=" s")
        print(f"   the devices compute {6 * P * tokens / F / took:.0%} of the time")
reveal("rooflines-1")

# %% tags=["time"]
grid = [500 * 1.1**k for k in range(46)]
send = 2 * (RANKS - 1) / RANKS * 2 * P / B
lines = {"backward": {t: 4 * P * t / F for t in grid}, "averaging": {t: send for t in grid}}
lines["both, overlapped"] = {t: predicted_step(t, True) - 2 * P * t / F for t in grid}
title = f"On four ranks, averaging hides behind backward once there are {bound:,.0f} tokens"
show(curves(lines, title, x="tokens of a replica and step", y="seconds", log="xy"))

# %% [markdown]
# The share of its time in which a device computes is the **scaling efficiency**: $n$ devices read
# $n$ times this share as many tokens per second as one does. At the bound, taking turns wastes 40 %
# of the machine, and overlap wins most of it back. What it can't win is the layer that stays
# exposed, here one of four: by the formula, devices compute 86 % of the time, and with 32 layers it
# would be 98 %. Far below the bound overlap hardly helps. The link is the bottleneck, and a step is
# nearly all averaging. (Llama 3's averaging over all eight cards of a node, in two levels, would
# still take more than twice as long as backward.)
#
# A B200 computes 2,250 TFLOP/s. Say it still sends 50 GB/s between nodes. Gradients have 4 bytes
# and are all-reduced over many nodes, in one ring through its card, and a step has one micro-batch.
# How many tokens per replica does averaging need to hide behind backward, at the peak?

# %%
mine = None
answer("rooflines-4", mine)

# %% [markdown]
# ## Whose tokens?
#
# **Count the tokens between two messages that carry the same weights.** If a step accumulates
# several micro-batches, data parallelism still sends once a step. That gives two bounds. With $F/B$
# tokens in the *step*, averaging takes no longer than all the backward passes together. To *hide*,
# it needs $F/B$ tokens in the **last micro-batch**, because the gradients aren't complete before.
#
# FSDP (lesson 13) keeps an $n$th of each layer's weights on each rank and gathers the layer just
# before it computes. Say a layer has $P$ weights of 2 bytes and a rank reads $t$ tokens in a
# micro-batch. Forward gathers $2P$ bytes and computes $2Pt$ FLOPs. Backward gathers them again,
# reduce-scatters gradients of as many bytes, and computes $4Pt$:
#
# $$\text{forward: } \frac{2Pt}{2P} \ge \frac FB, \qquad \text{backward: } \frac{4Pt}{2P + 2P} \ge
# \frac FB \qquad\Longrightarrow\qquad t \ge \frac{F}{B}.$$
#
# It's the same bound, but for other tokens.

# %% jupyter={"source_hidden": true}
predict(
    "rooflines-2",
    "With 29,670 tokens, 1.5 times F/B, a rank's FSDP hides its gathers over a network card. "
    "Now the same tokens are accumulated over four micro-batches. What happens?",
    "nothing: the same weights are gathered for the same tokens",
    "the gathers take longer than computing",
    "it hides even better: smaller micro-batches leave more room for the weights",
)

# %%
for micro_batches in (1, 4):
    tokens = 29_670 / micro_batches
    gathering = H100.peak / H100.between / tokens
    print(f"{micro_batches} x {tokens:,.0f} tokens: {gathering:.2f} s of gathering "
          "for each second of computing")  # fmt: skip
reveal("rooflines-2")

# %% [markdown]
# That's why FSDP wants few, large micro-batches, while a pipeline wants many small ones.
#
# H100s, each on a node of its own, reach 400 TFLOP/s and have one network card each. They run FSDP
# with weights of 2 bytes, but gradients are reduce-scattered in 4. How many tokens per rank and
# micro-batch does *backward* need to hide what it sends?

# %%
mine = None
answer("rooflines-3", mine)

# %% [markdown]
# ## Six bounds
#
# The same three steps, for the four ways that send activations. What's left after canceling is what
# you can choose.
#
# - **Pipelines.** A stage of $\ell$ layers sends $d$ numbers of 2 bytes per token. A LLaMA's layer
#   has $W = (2 + 2g/h)\,d^2 + 3df$ weights in its matrices ($g$ key heads for $h$ query heads, $f$
#   wide inside), so a stage computes $2\ell W$ FLOPs per token. The tokens cancel:
#   $\ell \ge \frac{d}{W}\cdot\frac FB$.
# - **Tensor parallelism** (lesson 14). A layer computes $6Wt/n$ FLOPs on each of $n$ ranks, forward
#   and backward. Forward has two all-gathers and two reduce-scatters of $2td$ bytes, backward as
#   many, and of each a rank sends $(n-1)/n$: $16td\,(n-1)/n$ bytes. The tokens cancel, too, and the
#   *ranks* are left: $n \le 1 + \frac38\cdot\frac Wd\cdot\frac BF$.
# - **Ring attention** (lesson 15). Each of $s$ queries on a rank meets each of $s$ keys, $4s^2d$
#   FLOPs, half of them with a causal mask. Meanwhile keys and values travel, $4sd\,g/h$ bytes:
#   $s \ge 2\,\frac gh\cdot\frac FB$.
# - **Experts** (lesson 16). A token meets $k$ experts of three matrices $d \times f$, $18kdf$
#   FLOPs. It travels to each and back, and so do its gradients: four trips of $2kd$ bytes. The
#   *width* of an expert is left: $f \ge \frac49\cdot\frac FB$.
#
# Tensor parallelism and experts wait for their messages, so nothing hides by itself there (until
# lesson 18): at their bound a layer takes twice as long as its computing.
#
# Here they are for Llama 3 405B and DeepSeek-V3, with what the two runs used: at the data sheet's
# figures, and with what products and collectives reach. V3 ran on H800s, with the network card of
# an H100, and computed most of its products in 8 bits (for which we assume the same share, 0.6):

# %%
d, f, share = 16384, 53248, 8 / 128  # Llama 3 405B; share: g/h
W = (2 + 2 * share) * d * d + 3 * d * f


def bounds(compute, card, nvlink):
    """compute, card, nvlink: the share of its data sheet that each reaches."""
    node = compute * H100.peak / (nvlink * H100.inside)
    network = compute * H100.peak / (card * H100.between)
    in_8_bits = compute * H100.eight / (card * H100.between)
    return {
        "Llama 3, data parallel: tokens >=": (network, "131,072 a step"),
        "Llama 3, FSDP: tokens >=": (network, "weights kept, see below"),
        "Llama 3, pipeline: layers >=": (d / W * network, "about 8"),
        "Llama 3, tensor parallel: ranks <=": (1 + 3 / 8 * W / d / node, "8"),
        "Llama 3, ring attention: tokens >=": (2 * share * network, "8,192"),
        "DeepSeek-V3, experts: width >=": (4 / 9 * in_8_bits, "2,048"),
        # to 4 nodes instead of 8 experts, there in 1 byte and back in 2
        "DeepSeek-V3, as it was sent: width >=": (4 / 9 * in_8_bits * 4 / 8 * 3 / 4, "2,048"),
    }


# %%
print(f"{'':40}{'peak':>8}{'in practice':>13}   used")
in_practice = bounds(0.6, 0.73, 0.82)
for what, (peak, used) in bounds(1, 1, 1).items():
    digits = 0 if peak > 100 else 1 if peak > 1 else 2
    print(f"{what:40}{peak:8,.{digits}f}{in_practice[what][0]:13,.{digits}f}   {used}")

# %% [markdown]
# Read it as a design:
#
# - A step of 16.78 million tokens can be shared out to at most 16.78 million / 19,780 = **848
#   replicas** before averaging takes longer than backward. So 16,384 GPUs need larger replicas.
# - Eight ranks of tensor parallelism are far below the 34 at which sending would take as long as
#   computing. Their messages still take $(8-1)/(34.2-1) = 21$ % as long as the products, and
#   without more effort none of that hides. Over a network card the limit would be 4.7, which is why
#   tensor parallelism stays inside a node.
# - A tenth of a layer hides a pipeline's messages, even between nodes (if each tensor-parallel rank
#   sends its own slice). What a pipeline loses is its bubble.
# - With one sequence of 8,192 tokens a micro-batch, FSDP's gathers wouldn't have hidden over a
#   card. Llama 3 kept the gathered weights from forward to backward.
# - With 8,192 tokens a rank, a ring's messages would have hidden. Llama 3 gathered keys and values
#   instead, which is simpler with masks.
# - DeepSeek's experts are too narrow for a plain all-to-all. So each token goes to at most four
#   nodes, travels there in 8 bits and comes back in 16. What the experts' own products still don't
#   cover hides behind the rest of *another* micro-batch
#   ([2412.19437](https://arxiv.org/abs/2412.19437), sections 3.2 and 3.3).
#
# [docs/rooflines.md](../docs/rooflines.md) has more models and wires, and the sources.
#
# ### Did Llama 3's averaging hide?
#
# As pure data parallelism each of the 16,384 GPUs would have read 1,024 tokens, an eighth of a
# sequence, and the batch can't grow at will (lesson 03). So 128 GPUs formed a replica, 8 by tensor
# parallelism in each of 16 stages, with 131,072 tokens a step. Each of them computes a 128th of the
# FLOPs and sends a 128th of the gradients, and those that hold the same slice sit in different
# nodes, so each has a card to itself: the bound stays 19,780 tokens for the *replica*. Averaging is
# short compared with the step.
#
# Whether it *hides* is another matter. The 131,072 tokens are 16 sequences for 16 stages, so the
# last micro-batch is hardly more than one sequence of 8,192 tokens. A GPU holds 3.2 billion
# weights. Its optimizer's state was sharded (lesson 13), so gradients, summed in 4 bytes, are only
# reduce-scattered. With 0.6 of the peak and 0.73 of the card:
#
# $$\text{reduce-scatter: } \frac{4 \cdot 3.2 \cdot 10^9}{36.5 \cdot 10^9} = 0.35\text{ s}, \qquad
# \text{last backward: } \frac{4 \cdot 3.2 \cdot 10^9 \cdot 8{,}192}{593 \cdot 10^{12}} =
# 0.18\text{ s}.$$
#
# So about half of it should stay exposed on the first stage, which finishes last, in a step of more
# than six seconds (at 400 TFLOP/s, waiting included): some 3 %. The new weights, gathered in 2
# bytes, take another 0.18 s. On the first stage at most half of that hides behind the first
# micro-batch's forward, which takes 0.09 s; later stages wait for the pipeline to fill anyway. The
# paper doesn't say how much did hide.
#
# ## How a GPU does two things at once: streams
#
# Our ranks overlapped because a process can sleep while gloo's thread sends. On a GPU both the
# products and NCCL's collectives are kernels. A **stream** is a queue of kernels that run one after
# the other; kernels in different streams may run at the same time. The host only enqueues: the call
# returns long before the kernel runs. NCCL's kernels have a stream of their own, and a collective
# needs to wait for the gradients, and the update for the collective. For that there are **events**:
# one stream records an event, another waits for it, and the host waits for neither. That's what
# `work.wait()` does with NCCL. It doesn't hold up Python, as with gloo, but the *compute stream*.
# The host waits where it asks for a value, as `loss.item()`, `.cpu()` and `nonzero()` do, or calls
# `torch.cuda.synchronize()`.
#
# So there are three queues to think of: the host's Python, the compute stream, the communication
# stream. Overlap needs the host to be *ahead* of the GPU, or else the collective is enqueued too
# late to run beside anything. How far ahead is it? Here is a step that we recorded on an H200, of
# the LLaMA of width 4,096 of lesson 12:

# %%
recorded = Trace.load("../DP/ddp/gpu_steps.json.gz").events_of(4)
for event in recorded[:: len(recorded) // 4]:
    launched, started = 1e3 * event.info["launched"], 1e3 * event.start
    print(f"a kernel launched at {launched:4.1f} ms started at {started:4.1f} ms")

# %% [markdown]
# The host is done after 36 ms and the GPU after 60, so at the end of this step its queue is 24 ms
# long: room enough to enqueue a gradient's all-reduce before backward has got there. At width 256
# the same host is never ahead, and nothing could overlap (lesson 12).
#
# Reality is worse in two ways. NCCL's kernels occupy some of the multiprocessors, so the products
# that run meanwhile are slower (lesson 11). And kernels that wait for each other across ranks
# deadlock if two ranks enqueue them in different orders: streams don't change lesson 02.
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - All of the sending can hide only if the work does at least $F/B$ FLOPs per byte sent: for an
#   H100 at its peak, 300 of its memory, 2,200 of NVLink, 19,780 of one network card, 2,470 of a
#   node's eight.
# - Data parallelism: $F/B$ tokens in a replica's step for averaging to take no longer than
#   backward, in its last micro-batch to hide. FSDP: in every micro-batch. (Twice, and 1.5 times,
#   with gradients of 4 bytes.) The size of the model cancels.
# - Tensor parallelism is bounded in ranks, a ring in tokens of a rank, experts in their width. A
#   pipeline's messages hardly matter.
# - Below its bound only a part can hide, however you overlap: add tokens, take fewer ranks, or send
#   fewer bytes.
#
# ## In the wild
#
# - The JAX team's [How to scale your model](https://jax-ml.github.io/scaling-book/roofline/) is a
#   book about TPUs, with a chapter on GPUs, that begins with this argument and derives every
#   sharding from it.
# - [ZeRO-Infinity](https://arxiv.org/abs/2104.07857), section 4, asks the same of a GPU and its
#   host's memory: which bandwidth keeps a GPU efficient if states are offloaded.
#
# ## Where next
#
# A bound says what *can* hide. [Lesson 11](11_buckets_and_overlap.ipynb) makes gradients travel
# during backward, and measures how much really does.
