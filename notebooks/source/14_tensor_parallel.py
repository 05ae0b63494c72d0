# %% [markdown]
# # Tensor parallelism: many devices share each layer
#
# *Reading 50 minutes, tasks 65 (homework 30)*
#
# *With twenty minutes: read to the MLP's picture, then "Backward, and two operators" with TP-5.*
#
# A pipeline assigns some of the layers to each device, and ZeRO-3 gathers a layer's weights before
# it computes. Either way, one device computes a whole layer, and that fails twice. A layer may not
# fit; and if it fits, one sequence is no faster than on one device, since data parallelism has
# nothing left to divide. But a layer is mostly a matrix product, and a matrix can be cut.
#
# **Question.** If each device holds a part of every matrix, what must the devices tell each other
# in the middle of a layer, and what does that cost?

# %%
import math
import sys

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.profiler import profile

from helpers.check import check, solve
from helpers.lesson import answer, predict, reveal
from helpers.parallel import (
    LLAMA,
    add_up_shared,
    cut,
    join,
    parallel_cross_entropy,
    sequence_parallel,
)
from helpers.ranks import find_place, launch

# %%
sys.path[:0] = ["../primer", "../TP", "../TP/llama"]
import intro
import intro_TP

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## Two ways to cut a matrix
#
# A layer computes $Y = XW$. Each **column** of $W$ makes one output feature, and each **row** of
# $W$ belongs to one input feature. So two devices can share a matrix in two ways, by columns or by
# rows:
#
# $$X\,[W_0 \;\; W_1] = [XW_0 \;\; XW_1], \qquad [X_0 \;\; X_1]\begin{bmatrix} W_0 \\ W_1
# \end{bmatrix} = X_0W_0 + X_1W_1.$$

# %%
rng = np.random.default_rng(0)
x, W = rng.normal(size=(3, 4)), rng.normal(size=(4, 6))

left, right = np.split(W, 2, axis=1)  # by columns: each device makes some of the outputs
by_columns = np.concatenate([x @ left, x @ right], axis=1)

upper, lower = np.split(W, 2, axis=0)  # by rows: each device has some of the inputs
x_left, x_right = np.split(x, 2, axis=1)
by_rows = x_left @ upper + x_right @ lower

# %% jupyter={"source_hidden": true}
print(f"columns, side by side: {abs(by_columns - x @ W).max():.0e} away from x W")
print(f"rows, added up:        {abs(by_rows - x @ W).max():.0e} away from x W")

# %% [markdown]
# With a cut by columns, the results stand side by side, and putting them together is an
# **all-gather**. With a cut by rows, each device has one term of every output, and adding the terms
# up is an **all-reduce**.
#
# ![Three ranks. Reduce-scatter: from a0 a1 a2, b0 b1 b2 and c0 c1 c2, rank 0 has Σ0, rank 1 Σ1,
# rank 2 Σ2. All-gather: from a, b and c, one on each rank, all three for all. All-reduce: Σ0 Σ1 Σ2
# for all.](../imgs/collectives.svg)
#
# ## Two layers in a row
#
# The interesting case is a pair. A transformer's MLP goes from $d$ features up to $4d$, through a
# nonlinear function, and back down to $d$: $Y = \mathrm{GeLU}(XA)\,B$. The obvious way cuts both
# matrices by columns. Then the ranks have to all-gather the hidden features, since every column of
# $B$ needs all of them, and then all-gather the outputs as well.
#
# Megatron-LM ([1909.08053](https://arxiv.org/abs/1909.08053)) cuts $A$ by columns and $B$ by
# **rows**.

# %%
gelu = lambda h: h * 0.5 * (1 + np.tanh(0.8 * (h + 0.045 * h**3)))  # noqa: E731
X, A, B = (rng.normal(size=shape) for shape in ((3, 4), (4, 16), (16, 4)))
terms = []
for rank in range(2):
    columns, rows = np.split(A, 2, axis=1)[rank], np.split(B, 2, axis=0)[rank]
    terms.append(gelu(X @ columns) @ rows)  # on its own: no word from the other rank
Y = sum(terms)  # the all-reduce

# %% jupyter={"source_hidden": true}
print(f"one sum of {len(terms)} terms: {abs(Y - gelu(X @ A) @ B).max():.0e} away from one device")

# %% [markdown]
# ![An MLP on two ranks. Every rank has the whole X, s by d. f stands before A: nothing forward, an
# all-reduce backward. Each rank multiplies by its columns of A, d by 4d/2, applies the GeLU to its
# own features, and multiplies by its rows of B, 4d/2 by d. Its result is one term of Y; g adds the
# terms up, an all-reduce forward and nothing backward, so every rank has the whole
# Y.](../imgs/parallel_mlp.svg)
#
# Forward, the ranks communicate at the tall gray bar $g$ alone. We'll come to $f$, which
# communicates in backward, further down.
#
# Why columns before rows? If $A$ were cut by rows, each rank would have one *term* of every hidden
# feature, just in front of a nonlinear function.

# %% jupyter={"source_hidden": true}
predict(
    "tensor_parallel-2",
    "Rank 0 has the term a of a hidden feature, and rank 1 the term b. May each apply a ReLU "
    "(negative numbers become zero) to its own term, before the two are added up?",
    "yes: the sum may be taken before or after",
    "no",
)

# %%
a, b = np.array([3.0, -1.0, 2.0]), np.array([-5.0, 4.0, 1.0])

# %% jupyter={"source_hidden": true}
print("ReLU of the sum: ", np.maximum(a + b, 0))
print("sum of the ReLUs:", np.maximum(a, 0) + np.maximum(b, 0))
reveal("tensor_parallel-2")

# %% [markdown]
# After a cut by columns each rank has *whole* features, only fewer of them, so it can carry on
# alone: through the function, and through its rows of the next matrix. Only then comes a sum.
# Attention is cut in the same way, because its **heads** don't look at each other: each rank has
# some heads, whole, and the output projection is cut by rows. So the number of ranks must divide
# the number of query heads. Where several query heads share one key head, there are fewer key
# heads, and with more ranks than these each rank keeps a copy of one.
#
# ## How much does it save?
#
# Let's count what each of $n$ ranks sends for one MLP. The unit is what a ring's all-gather of $X$
# sends, $\frac{n-1}{n}$ of its $s \times d$ numbers ($s$ positions with $d$ features). In this
# unit, an all-gather or reduce-scatter of the hidden features, which are $4d$ wide, costs 4. An
# all-reduce of the outputs costs 2, because it's a reduce-scatter followed by an all-gather:
#
# | | hidden forward | output forward | hidden backward | input backward | sum |
# |---|---|---|---|---|---|
# | columns, columns | gather: 4 | gather: 1 | reduce-scatter: 4 | all-reduce: 2 | **11** |
# | columns, rows | – | all-reduce: 2 | – | all-reduce: 2 | **4** |
#
# So Megatron's way sends 4/11 as much. If the MLP is a network's first layer, its input needs no
# gradient, so the column "input backward" drops out and the ratio is 2/9. Other shapes have other
# ratios: a network of 784, 256 and 10 features, as in the MPI lab of `TP/README.md`, sends
# $(256 + 10 + 256)/(2 \cdot 10) = 26$ times as much by columns alone, because it has so few
# outputs. (If the forward passes of the test are counted too, it's 24 times.)
#
# And the factor itself? Take an all-reduce of 8 MB in a ring of 16 ranks: how many MB does each
# rank send?

# %%
mine = None
answer("tensor_parallel-3", mine)

# %% [markdown]
# ## Find the bug
#
# A layer also has a bias, which is added to its outputs. Here's a second layer, cut by rows among
# `m` ranks. Something is wrong with it.


# %%
def second_layer(hidden, W, bias, m):
    terms = []
    for part, rows in zip(np.split(hidden, m, axis=1), np.split(W, m), strict=True):
        terms.append(part @ rows + bias)  # what one rank computes
    return sum(terms)  # the all-reduce


def far_away(layer, bias):
    h, V = rng.normal(size=(2, 8)), rng.normal(size=(8, 3))
    away = [abs(layer(h, V, bias, m) - (h @ V + bias)).max() for m in (1, 2, 4)]
    return ", ".join(f"{number:.1g}" for number in away)


# %% jupyter={"source_hidden": true}
for bias in (np.zeros(3), np.array([1.0, 2.0, 3.0])):
    print(f"bias {bias}: on 1, 2 and 4 ranks {far_away(second_layer, bias)} away")

# %% jupyter={"source_hidden": true}
predict(
    "tensor_parallel-4",
    "What is wrong with it?",
    "the terms must not be added up",
    "each rank needs another part of the bias",
    "the bias is added too early",
)


# %%
def cured(hidden, W, bias, m):
    pairs = zip(np.split(hidden, m, axis=1), np.split(W, m), strict=True)
    return sum(part @ rows for part, rows in pairs) + bias


# %% jupyter={"source_hidden": true}
print(f"on 1, 2 and 4 ranks {far_away(cured, np.array([1.0, 2.0, 3.0]))} away")
reveal("tensor_parallel-4")

# %% [markdown]
# It's a bug that hides well. Large models usually start with biases of zero, so a test on a fresh
# model doesn't see it. On one rank all is well, and on several ranks training still works, only
# with a bias that counts `m` times. So compare with one device, and do it with a bias that isn't
# zero.
#
# ## Backward, and two operators
#
# Backward raises the same question again. Every rank used the whole $X$ for its own columns of $A$,
# so each rank computes one term of the gradient of $X$:
#
# $$\frac{\partial L}{\partial X} = \sum_r \frac{\partial L}{\partial (X A_r)}\, A_r^{\mathsf T}.$$
#
# Unless these terms are added up, every layer below trains on a part of its gradient. Megatron-LM
# puts this into two operators: $f$, which we call `Copy`, stands before the columns, and $g$, which
# we call `Sum`, stands after the rows.
#
# ### Your turn: TP-5 · 15 minutes · 10 points
#
# Write `Copy` and `Sum` in `TP/llama/intro_TP.py`, forward and backward. For each of them, ask
# first what the ranks hold, and whether it's the same on all of them.

# %%
check("TP-5")

# %% [markdown]
# What one does forward, the other does backward, which is why the paper calls them **conjugate**.
# With them, a parallel layer takes only a few lines.
#
# ### Your turn: TP-6 · 20 minutes · 10 points
#
# Write `PartLinear` in `TP/llama/intro_TP.py`: decide which part of the weight a rank keeps, and
# which operator stands where, for a cut by outputs and for one by inputs. Torch stores a weight as
# (out, in), the transpose of the paper's $W$, so what the paper calls columns is dimension 0 here.

# %%
check("TP-6")

# %% [markdown]
# ## A LLaMA on two ranks
#
# The script `TP/llama/intro_TP.py` cuts every projection of a LLaMA: queries, keys, values, gate
# and up by outputs, and the two projections that read their results by inputs. Of the four heads,
# each of two ranks has two. Both ranks read the same stories and compute the same loss.

# %% jupyter={"source_hidden": true}
flags = ["--steps", quick("10", "2"), "--optimizer", "sgd", "--lr", "0.3", "--layers", "3"]
alone, whole, _ = intro.train(intro.read_flags(flags), lambda step, loss: None)


# %%
def train_rank(flags):
    """On a rank: losses, and this rank's weights."""
    options, place = intro_TP.read_flags(flags), find_place()
    losses, net, _ = intro_TP.train(options, place, "cpu", lambda *_: None)
    return losses, net.state_dict()


two = launch(train_rank, ranks=2, args=(flags,), quiet=True)
print(f"last loss: one device {alone[-1]:.5f}, two ranks {two[0][0][-1]:.5f}")

# %% [markdown]
# A loss proves little, so we put the parts together and compare every weight. `join` knows which
# tensors are cut, and along which dimension. (It takes the others from rank 0.)

# %%
blocks = {name: way for name, way in LLAMA.items() if name.startswith("*.")}
parts = [weights for _, weights in two]
joined, right_ones = join(parts, blocks), whole.state_dict()
far = max((joined[name] - right_ones[name]).abs().max().item() for name in right_ones)
numbers = [sum(w.numel() for w in weights.values()) for weights in (*parts, right_ones)]

# %% jupyter={"source_hidden": true}
print(f"largest difference of a weight after the training: {far:.1e}")
assert far < 1e-4
print(f"numbers on each of two ranks {numbers[0]:,}, on one device {numbers[-1]:,}")

# %% [markdown]
# A rank keeps more than half of the numbers because the script cuts only the blocks' projections;
# we'll come to the embedding and the head below.
#
# ## How many all-reduces?
#
# Each block has two all-reduces forward, one after the attention's output projection and one after
# the MLP's last matrix. Backward it has more: in our script each projection that is cut by outputs,
# queries, keys, values, gate and up, has its own Copy, and each Copy is an all-reduce. Torch's
# profiler also records gloo's collectives, so it can count them:

# %%
options = intro.read_flags([*flags, "--batch-size", "2", "--seq-l", "32"])
tokenizer = intro.make_tokenizer(options)
ids = next(intro.stories_of_ranks(options, tokenizer, 1))


def all_reduces(net):
    """On a rank: how many all-reduces one batch takes, forward and backward."""
    intro_TP.cut_layers(net, dist.get_rank(), 2)
    with profile() as forward:
        loss = F.cross_entropy(net(ids)[:, :-1].mT, ids[:, 1:])
    with profile() as backward:
        loss.backward()
    return [sum(e.name == "gloo:all_reduce" for e in part.events()) for part in (forward, backward)]


forward, backward = launch(all_reduces, 2, (whole,), quiet=True)[0]
print(f"all-reduces of a block: {forward // 3} forward, {backward // 3} backward")

# %% [markdown]
# Megatron-LM keeps queries, keys and values in one matrix, and gate and up in another. Each of the
# two needs only one $f$, so a block has two all-reduces each way. For a whole model: a LLaMA of 32
# layers, cut as Megatron does it, has 128 all-reduces in one step, without embedding and loss.
#
# Every one of these all-reduces is **on the critical path** in our script, which waits for it
# before it goes on. Forward it has no choice: the next product needs the sum. This is what sets
# tensor parallelism apart from data parallelism, whose averages can hide behind the backward pass.
#
# The all-reduces of the backward pass could hide too, though. There a layer computes two things,
# the gradient of its input and the gradient of its weights, and only the first must be summed. So
# we can start the all-reduce of the input's gradient, and compute the weights' gradient meanwhile.
# Forward has no such second product. There one cuts the product itself into chunks, and sends one
# while computing the next. That's **async tensor parallelism**, and lesson 18 builds it.
#
# ## The vocabulary
#
# The embedding and the head are still whole on every rank, but they can be cut too, along the
# vocabulary. In the **embedding**, each rank has the rows of some tokens and returns zeros for the
# others, and the sum over the ranks is the embedding. For the **loss**, each rank has the logits of
# some tokens. The cross-entropy of one position, with target $t$, is
#
# $$\ell = \log \sum_v e^{z_v - m} - (z_t - m), \qquad m = \max_v z_v.$$
#
# Before you go on, look for the pieces of this formula that a rank can't compute from its own
# logits.

# %% jupyter={"source_hidden": true}
predict(
    "tensor_parallel-7",
    "A batch of 3 sequences of 128 tokens, a vocabulary of 4,096, two ranks. How many numbers does "
    "a rank put into all-reduces for the loss?",
    "1,572,864",
    "1,152",
    "4,096",
)


# %%
def loss_in_parts():
    torch.manual_seed(0)
    logits, targets = torch.randn(3, 128, 4096), torch.randint(4096, (3, 128))
    mine = logits.chunk(2, -1)[dist.get_rank()]
    with profile(record_shapes=True) as seen:
        loss = parallel_cross_entropy(mine, targets)
    sent = [e.input_shapes[0] for e in seen.events() if e.name == "gloo:all_reduce"]
    put = [math.prod(shape) for shape in sent]
    return put, (loss - F.cross_entropy(logits.flatten(0, 1), targets.flatten())).abs().item()


# %% jupyter={"source_hidden": true}
put, away = launch(loss_in_parts, ranks=2, quiet=True)[0]
print(f"all-reduces of {put} numbers: {sum(put):,}; the logits are {3 * 128 * 4096:,}")
print(f"the loss is away from torch's by: {away:.1e}")
assert away < 1e-5
reveal("tensor_parallel-7")

# %% [markdown]
# Each of the three pieces is a maximum or a sum over ranks; ours puts both sums into one
# all-reduce. The logits are often the largest tensor of the whole step, and this way no rank ever
# holds all of them. The loss's backward needs no message, as you'll see if you write the function
# yourself (TP-7, below).
#
# ## The sequence
#
# The norms and residuals between the cut layers aren't shared yet: every rank computes all of them,
# and keeps the same activations as the others. **Sequence parallelism**
# ([2205.05198](https://arxiv.org/abs/2205.05198)) gives each rank some of the positions there. The
# all-reduce after the rows becomes a reduce-scatter, and an all-gather stands before the columns:
#
# ![The same MLP with sequence parallelism. The norm before it and the residual after it are
# computed for s/2 positions on each rank. An all-gather, backward a reduce-scatter, gives every
# rank the whole X. A reduce-scatter, backward an all-gather, adds up the terms and leaves each rank
# its positions.](../imgs/sequence_parallel_mlp.svg)
#
# The volume stays the same, since an all-reduce consists of just these two, but the activations
# between the cut layers are now cut as well, which is the point. (Megatron-LM keeps only its part
# of a gathered input and gathers it a second time in backward: less memory, for one all-gather
# more.)
#
# One thing is new. On each rank a norm now sees only some positions, so the gradient of its weight
# is only one term of a sum, and the terms must be added up, which is what `add_up_shared` does.
# Would you notice if it were forgotten? Let's compare every gradient with that of one device.


# %%
def gradients_on_a_rank(model, add_up):
    cut(model, LLAMA, sequence=True, heads=(model.config.num_heads,))
    sequence_parallel(model.model.layers, ends_here=False)
    targets = F.pad(ids[:, 1:], (0, 1), value=-100)  # the last position has none
    parallel_cross_entropy(model(ids), targets).backward()
    if add_up:
        add_up_shared(model, None, between=lambda name: "norm" in name)
    return {name: p.grad for name, p in model.named_parameters()}


# %%
model = intro.make_model(options, tokenizer).double()
gradients = {way: launch(gradients_on_a_rank, 2, (model, way), quiet=True) for way in (True, False)}
F.cross_entropy(model(ids)[:, :-1].mT, ids[:, 1:]).backward()
right = {name: p.grad for name, p in model.named_parameters()}
for add_up, parts in gradients.items():
    found = join(parts, LLAMA)
    wrong = [name for name in right if (found[name] - right[name]).abs().max() > 1e-12]
    print(f"add_up_shared {'called' if add_up else 'left out'}: "
          f"{len(right) - len(wrong)} gradients right, {len(wrong)} wrong", *wrong[:1])  # fmt: skip

# %% [markdown]
# With the sum, two ranks that each hold only a part of every matrix compute the same gradients as
# one device. Without it only the gradients of the norms are wrong, a few numbers among many, which
# a falling loss would hardly show.
#
# ## How many ranks are worth it?
#
# **Sending takes as long as computing at $1 + \frac38(4d + 3f)\frac BF$ ranks, however many tokens
# there are.** A tensor-parallel rank sends activations in the middle of every layer: two
# all-reduces forward and two backward, or the gathers and scatters that they consist of. Take one
# layer of a LLaMA, $t$ tokens and $n$ ranks. Its matrices have $d\,(4d + 3f)$ weights, and forward
# and backward take 6 FLOPs for each weight and token, of which each rank computes an $n$th. Each of
# the four all-reduces sends $2\frac{n-1}{n}$ times $t\,d$ numbers of 2 bytes:
#
# $$\frac{16\,t\,d\,(n-1)/n}{B} \le \frac{6\,d\,(4d+3f)\,t}{n\,F}
# \quad\Longleftrightarrow\quad n - 1 \le \frac38\,(4d+3f)\,\frac BF.$$
#
# The tokens cancel, because products and messages both grow with them. What's left is the *width*.
# (The attention scores are left out. They grow with the square of the sequence and need no message
# of their own, so with long sequences the true bound is higher.)
#
# Other bounds say when messages can hide completely. Here nothing hides unless we overlap it, so
# *at* the bound, $n^*$, a layer takes twice as long as its computing. Compared with one rank, $n$
# ranks are then faster by the factor
#
# $$\frac{1}{1/n + (n-1)/n \cdot 1/(n^*-1)} = \frac{n\,(n^*-1)}{n^* + n - 2},$$
#
# which is $n/2$ at the bound and, even without latency, never reaches $n^* - 1$ (if $n^*$ is above
# 2; else one device is the fastest).

# %% jupyter={"source_hidden": true}
predict(
    "tensor_parallel-8",
    "We share each layer among 64 GPUs instead of 8, over the same network. Computing takes an "
    "eighth of the time. And sending?",
    "an eighth too",
    "about as long as before",
    "eight times as long",
)


# %%
def bound(d, f, rate, link, heads=1.0):
    """The ranks at which sending takes as long as computing. heads: key heads for a query head."""
    return 1 + 3 / 8 * ((2 + 2 * heads) * d + 3 * f) * link / rate


def seconds(n, rate, link, d, f, t):
    """Of one layer, forward and backward: computing, and sending."""
    return 6 * d * (4 * d + 3 * f) * t / n / rate, 16 * t * d * (n - 1) / n / link


# %% [markdown]
# Here are the layers of a model of 7 billion parameters ($d$ = 4,096, $f$ = 11,008) and of Llama 3
# 405B ($d$ = 16,384, $f$ = 53,248) on H100s, at the peaks of lesson 10's table. Over network cards,
# we assume one GPU of the group in each machine. 405B has only $g = 8$ key heads for $h = 128$
# query heads, which makes two of attention's four matrices smaller: for it $4d$ becomes
# $(2 + 2g/h)\,d$. (Beyond 8 ranks key heads are repeated, which we leave out.)

# %%
SHAPES = {"7B": (4096, 11008), "405B": (16384, 53248)}
HEADS = {"7B": 1, "405B": 8 / 128}
for where, link in {"NVLink": 450e9, "network card": 50e9}.items():
    for name, shape in SHAPES.items():
        most = bound(*shape, 989e12, link, HEADS[name])
        print(f"{name:4} over {where}: sending takes as long as computing at {most:.1f} ranks")

# %%
for n in (8, 64):
    computing, sending = seconds(n, 989e12, 50e9, *SHAPES["7B"], t=2048)
    print(f"{n:2} GPUs with network cards: compute {1e3 * computing:.2f} ms, "
          f"send {1e3 * sending:.2f} ms")  # fmt: skip
reveal("tensor_parallel-8")

# %% [markdown]
# With $n$ ranks, sending takes $(n-1)/(n^*-1)$ of the time of computing. For a 7B layer on 8 GPUs
# in one domain that's 0.83, so they're $8/1.83 = 4.4$ times as fast as one. With one card for each
# machine, two or more GPUs at their peak are slower than one, since $n^* - 1 = 0.94$; at the 400
# TFLOP/s that whole steps reach, they'd be at most 2.3 times as fast. A wide model affords more.
#
# Each further GPU gains less, and over a network much less. So tensor parallelism is mostly used
# inside an **NVLink domain**, the group of GPUs that the fast links connect, and pipelines and data
# parallelism go between domains. For years that domain was one machine with 8 GPUs. In a GB200
# NVL72 it's a rack of 72. The bound is no higher there: its links are twice as fast, and its GPUs
# two and a half times. But a group of more than 8, where the bound allows one, now stays on the
# fast links. In `helpers.grid` the tensor-parallel ranks are neighbors, which puts them in one
# domain.
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - Cut by columns, the outputs stand side by side; cut by rows, terms are added up. Columns, then
#   the function, then rows: that takes one all-reduce forward and one backward.
# - `Copy` and `Sum` are conjugate: what one does forward, the other does backward.
# - A bias comes after the sum, once.
# - The all-reduces of the forward pass are on the critical path, unless the products are cut into
#   chunks (lesson 18); those of the backward pass can hide behind the weights' gradients.
# - At $1 + \frac38(4d+3f)\frac BF$ ranks sending takes as long as the products. Each further rank
#   gains less, especially over a network, so tensor parallelism mostly stays inside the NVLink
#   domain.
# - The parts are slices of one model, so compare each gradient with one device's.
#
# ## In the wild
#
# - Megatron-LM's own rule, from an analysis that its experiments bear out: tensor parallelism up to
#   the number of GPUs in a server, 8 in its experiments, and pipelines across servers
#   ([2104.04473](https://arxiv.org/abs/2104.04473), section 3.2, takeaway 1).
# - Llama 3 405B: tensor parallelism of 8, innermost, with 16 pipeline stages, on H100s
#   ([2407.21783](https://arxiv.org/abs/2407.21783), table 4).
# - DeepSeek-V3 was trained on 2,048 H800s without any tensor parallelism, which its authors call
#   costly ([2412.19437](https://arxiv.org/abs/2412.19437), section 3.2).
#
# To read in Megatron-LM: `megatron/core/tensor_parallel/mappings.py`, where
# `_CopyToModelParallelRegion` and `_ReduceFromModelParallelRegion` are your two operators, and
# `LinearWithGradAccumulationAndAsyncCommunication` in `layers.py` beside it, which hides the
# backward all-reduce. In PyTorch, `parallelize_module` with `ColwiseParallel` and `RowwiseParallel`
# cuts layers in the same two ways.
#
# ## Where next
#
# [Lesson 15](15_long_context.ipynb) cuts what tensor parallelism leaves whole: the sequence inside
# attention.
#
# ## Homework: the loss
#
# ### Your turn: TP-7 · 30 minutes · 15 points
#
# Write `parallel_cross_entropy()` in `TP/llama/parallel_loss.py`: the loss of logits that are cut
# along the vocabulary, forward and backward, on top of your own `Sum`. It's the most elegant piece
# of tensor parallelism: three numbers for each position replace the whole tensor of logits.
#
# The same cut by MPI, in a small network with two tasks (TP-2, TP-3; 45 minutes), has a page of its
# own: [TP/README.md](../TP/README.md).

# %%
check("TP-7")
