# %% [markdown]
# # The naive pipeline: a model too large for one device
#
# *Reading 30 minutes · tasks 30 · machine 1*
#
# *With twenty minutes: as far as the first drawing, PP-1, and the comparison with one device.*
#
# Data parallelism has a weakness that no network can cure: every device holds the whole model. With
# Adam in mixed precision a parameter takes 16 bytes (2 for the weight, 2 for its gradient, 12 for
# the optimizer's states), so Llama 3 with its 405 billion parameters needs 6.5 TB before it has
# read a single token, and an H100 has 80 GB. No batch size is small enough to make that fit.
#
# So we cut the model itself. Each device holds a few of its layers, called a **stage**, and a batch
# travels through the stages one after the other, like a car on an assembly line: a **pipeline**.
#
# **Question.** Each device sees only a part of the model. How can all of them together learn
# exactly what one big device would learn, and what does it cost?

# %%
import sys
import time
from itertools import pairwise
from statistics import median

import torch

from helpers.draw.stages import Piece, cut, stages
from helpers.grade import check
from helpers.lesson import answer, claim, predict, quick, reveal, show, show_diff
from helpers.lesson.cutting import cuts
from helpers.ranks import find_place, launch

# %%
from helpers.schedules import naive
from helpers.simulate import Costs, simulate
from helpers.trace import Recorder, bubble, busy, idle_by_cause, with_waits
from simplellm.losses import causalLLMLoss
from simplellm.slicing import slice_stage, slice_stages, whole_name

sys.path[:0] = ["../primer", "../PP/naive"]
import intro

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## Cut a model into stages
#
# A LLaMA is easy to cut, because it's a chain: the embedding turns token ids into vectors, each
# layer turns vectors into vectors of the same shape, and the head turns the last ones into a score
# for every token of the vocabulary. Our six layers make three stages of two, with the embedding in
# the first stage and the head in the last.

# %%
options = intro.read_flags(["--batch-size", "3"])
tokenizer = intro.make_tokenizer(options)
torch.manual_seed(0)
net = intro.make_model(options, tokenizer)
ids = next(intro.stories_of_ranks(options, tokenizer, ranks=1))
parts = slice_stages(net, 3)
for number, stage in enumerate(parts):
    count = sum(p.numel() for p in stage.parameters())
    print(f"stage {number}: {type(stage).__name__:16} {count:8,} parameters")

x = ids
for stage in parts:
    x = stage(x)
print("the same scores as the whole model:", torch.equal(x, net(ids)))

# %% [markdown]
# Forward is the easy half: each stage hands its output to the next. What travels is the
# **activation**, one vector of `dmodel` numbers for each token of the batch. Its size doesn't
# depend on how many layers a stage has, or on how many parameters. That's what makes pipelines
# attractive where the network is slow: a stage may hold billions of parameters, and its neighbor
# still gets only this one tensor.

# %%
activation = parts[0](ids)
shape = " × ".join(map(str, activation.shape))
everything = 4 * sum(p.numel() for p in net.parameters())
print(f"one activation: {shape} numbers, {4 * activation.numel() / 1e3:.0f} kB")
print(f"all gradients, which data parallelism would average: {everything / 1e3:.0f} kB")

# %% [markdown]
# ## Backward, across a boundary
#
# Backward is the half that takes some thought. Autograd records what happens inside one process,
# and a message carries numbers without any record of where they came from. So at the boundary
# between two devices, the chain that `loss.backward()` would follow is broken.

# %%
predict(
    "L05-1",
    "The last stage has computed its loss and its own gradients. What must it send to the stage "
    "before it, so that stage can compute its gradients too?",
    "the gradient of every parameter of the stage before",
    "the gradient of the loss with respect to the activation that it received",
    "the loss",
)

# %% [markdown]
# We can try it in one process, because `detach()` does to a tensor what a message does: it keeps
# the numbers and drops the history.

# %%
first, rest = parts[0], parts[1:]
y = first(ids)
received = y.detach().requires_grad_()  # what arrives at the next stage
x = received
for stage in rest:
    x = stage(x)
causalLLMLoss(x, ids, tokenizer.vocab_size).backward()
print("what the next stage can send back:", tuple(received.grad.shape))
y.backward(received.grad)  # and the stage before continues from there
reveal("L05-1")

# %% [markdown]
# Are these the gradients of the whole model?

# %%
causalLLMLoss(net(ids), ids, tokenizer.vocab_size).backward()
expected = {name: p.grad for name, p in net.named_parameters()}
far = 0.0
for stage in parts:
    for name, p in stage.named_parameters():
        whole = expected[whole_name(name, stage.first_layer)]
        far = max(far, (p.grad - whole).abs().max().item())
claim.below("largest difference from the gradients of the whole model", far, 1e-6)

# %% [markdown]
# This is the chain rule with a message in the middle. Say the stage computes $y = f(x, \theta)$ and
# everything after it turns $y$ into the loss $L$. Then
#
# $$\frac{\partial L}{\partial \theta} = \Big(\frac{\partial y}{\partial \theta}\Big)^{\!\top}
# \frac{\partial L}{\partial y}, \qquad
# \frac{\partial L}{\partial x} = \Big(\frac{\partial y}{\partial x}\Big)^{\!\top}
# \frac{\partial L}{\partial y}.$$
#
# Of all that comes after the stage, only $\partial L/\partial y$ appears, and it has the shape of
# $y$. The left equation yields the stage's own gradients; the right one is what it sends further
# back. `y.backward(gradient)` computes both at once.

# %%
show(stages((2, 2, 2), shape))

# %% [markdown]
# ## From one device to three stages
#
# In the script, the training loop stays as it was. Forward and backward of a batch move into one
# function, because in between there are messages now:

# %%
show_diff("primer/intro.py", "PP/naive/intro_PP_naive.py", context=1)

# %% [markdown]
# ### Your turn: PP-1 · 30 minutes · 15 points
#
# Write `forward_backward()` in `PP/naive/intro_PP_naive.py`: one batch through this rank's stage,
# forward and then backward. The picture above shows all that a rank sends and receives. Two things
# are easy to miss: the first rank has no neighbor on its left and the last none on its right, and a
# tensor that arrives in a message doesn't require a gradient by itself.

# %%
check("PP-1")

# %% [markdown]
# ## Run it
#
# Three real processes, each with a third of the layers, run your function, while one device trains
# on the same batches for comparison. Both use plain SGD, because there a wrong gradient shows in
# the weights (Adam would hide a wrong scale, as lesson 03 showed).

# %%
import intro_PP_naive

flags = ["--steps", str(quick(30, 3)), "--optimizer", "sgd", "--lr", "0.3"]
losses, whole, alone = intro.train(intro.read_flags(flags), say=lambda step, loss: None)


def train_rank(flags):
    options = intro_PP_naive.read_flags(flags)
    losses, stage, trace = intro_PP_naive.train(options, find_place(), "cpu", lambda *_: None)
    named = {whole_name(n, stage.first_layer): w for n, w in stage.state_dict().items()}
    return losses, named, trace


# %%
ranks = launch(train_rank, ranks=3, args=(flags,), quiet=True)
weights = whole.state_dict()
for rank, (_, mine, _) in enumerate(ranks):
    apart = max((mine[name] - weights[name]).abs().max().item() for name in mine)
    claim.below(f"rank {rank}, {len(mine):2} tensors: from one device at most", apart, 1e-6)
print(f"last loss: one device {losses[-1]:.4f}, pipeline {ranks[-1][0][-1]:.4f}")

# %% [markdown]
# The weights are those of one device, and no rank ever trained more than its own stage.
#
# ## What each rank keeps
#
# Memory was the point, so let's count it. A rank keeps the weights, gradients and optimizer states
# of its own stage, and from forward to backward everything that autograd saves for the chain rule.

# %%
predict(
    "L05-2",
    "Three stages, Adam, batches of three sequences. How much of one device's memory does the "
    "fullest of the three ranks need?",
    "exactly a third",
    "clearly more than a third, but less than half",
    "more than two thirds: activations aren't divided",
)


# %%
def run(stage, x, ids):
    """What a stage computes in forward; the last one computes the loss as well."""
    y = stage(x)
    is_last = y.shape[-1] != stage.config.dmodel
    return causalLLMLoss(y, ids, y.shape[-1]) if is_last else y


def saved_bytes(stage, x, ids):
    """Bytes that autograd keeps from forward to backward, without the weights."""
    own = {p.untyped_storage().data_ptr() for p in stage.parameters()}
    kept = {}

    def keep(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        run(stage, x, ids)
    return sum(size for place, size in kept.items() if place not in own)


# %%
inputs = [ids, parts[0](ids).detach(), parts[1](parts[0](ids)).detach()]
rows = [("one device", net, ids), *zip(("rank 0", "rank 1", "rank 2"), parts, inputs, strict=True)]
print(f"{'kB':12}{'weights':>9}{'gradients':>11}{'Adam':>8}{'activations':>13}{'total':>8}")
total = {}
for who, module, batch in rows:
    each = 4 * sum(p.numel() for p in module.parameters()) / 1e3
    activations = saved_bytes(module, batch, ids) / 1e3
    total[who] = 4 * each + activations
    print(
        f"{who:12}{each:9,.0f}{each:11,.0f}{2 * each:8,.0f}{activations:13,.0f}{total[who]:8,.0f}"
    )
share = max(total[f"rank {rank}"] for rank in range(3)) / total["one device"]
claim.below("a third, and the share of one device's memory on the fullest rank", 1 / 3, share)
claim.below("that share, and half", share, 0.5)
reveal("L05-2", share=share)

# %% [markdown]
# The activations are divided as well, because each stage saves only what its own layers need. Only
# the two ends aren't divided evenly: the embedding and the head are each a table with a row for
# every token of the vocabulary, and the last rank keeps the scores and the loss on top.
#
# ## Where the time goes

# %%
predict(
    "L05-3",
    "Three ranks, one batch after the other, equal stages, free messages. What share of the time "
    "does a rank wait?",
    "hardly any: three ranks share the work",
    "one third",
    "two thirds",
)

# %%
plan = simulate(naive(3), Costs(forward=1, input_grad=1, weight_grad=1))
show(plan.trace)
print(f"a step takes {plan.step_time:g} s, and each rank computes {plan.busy[0]:g} s of it")
reveal("L05-3", share=plan.bubble())

# %% [markdown]
# The simulator plays the step with a forward of 1 s and a backward of 2 s. At every moment one rank
# computes and the others wait for it. That idle time is called the **bubble**, and here we can
# derive it in two lines. Say stage $s$ takes $t_s$ for forward and backward. The batch passes
# through all of them, one at a time, so a step takes $T = t_0 + \dots + t_{p-1}$, and the $p$ ranks
# together have $pT$ of time, of which they use $T$:
#
# $$\text{bubble} = \frac{pT - T}{pT} = \frac{p - 1}{p}.$$
#
# Nothing here asks for equal stages: the naive pipeline wastes $(p-1)/p$ however you cut the model.
# And it gets worse with every device you add.
#
# Before we look at the real ranks, here are four words that all lessons and pictures use in the
# same way. A rank is **busy** while it computes, **communicating** while it takes part in a
# collective that all its members have reached, **waiting** while it needs something that isn't
# there yet (so a rank that is blocked in `recv` waits, whether the message has been sent or not),
# and **finished** when it has nothing left to do. The bubble is everything that isn't busy.

# %% tags=["time"]
trace = with_waits(ranks[0][2].merged(ranks[1][2], ranks[2][2]))
ends = [e.end for e in trace.events_of(0) if e.kind == "update"]
three = quick(3, 1)
steps = trace.between(ends[-three - 1], ends[-1])
show(steps)
for rank, causes in idle_by_cause(steps).items():
    at_work, waits = busy(steps)[rank] / steps.duration, causes["wait"] / steps.duration
    rest = 1 - at_work - waits
    print(f"rank {rank}: busy {at_work:4.0%}, waiting {waits:4.0%}, neither {rest:4.0%}")
print(f"bubble: {bubble(steps):.0%} of the time, against {2 / 3:.0%} in the simulation")

# %% [markdown]
# It's the same staircase. The bubble is larger than two thirds because between two boxes there's
# Python at work, and because a process that has waited for a message needs a moment to wake up. So
# what have we gained? One device runs the same batches:

# %% tags=["time"]
updates = [e.end for e in alone.events_of(0) if e.kind == "update"]
one_device = median(end - start for start, end in pairwise(updates))
pipeline = median(end - start for start, end in pairwise(ends))
ratio = pipeline / one_device
claim.below("a step on one device, times 0.9, and one of the pipeline", 0.9 * one_device, pipeline)

# %% [markdown]
# The pipeline does the same work, one piece after the other, so it can't be faster than one device,
# and messages come on top. We've bought memory, but no time. The next lesson is about getting the
# time back.
#
# ## Which rank has the most to do?
#
# Two of six equal layers for each rank sounds fair. Is it?

# %%
predict(
    "L05-4",
    "Cut 2 + 2 + 2, the embedding with rank 0 and the head with rank 2. Which rank computes "
    "longest?",
    "rank 0: the embedding is a large table",
    "rank 2: the head is a large matrix",
    "no rank: layers are all that counts",
)

# %% [markdown]
# To find out we time the three kinds of pieces alone. A model that is cut into 0 + 6 + 0 layers has
# exactly these parts: an embedding, six layers, a head with the loss. Real vocabularies are large
# (128,256 tokens in Llama 3, and 1,200 here), so we take the larger tokenizer of this lab, with
# 4,096 tokens, and leave the layers as they are.


# %%
def seconds(stage, x, ids):
    """The best of several: seconds of forward and of backward."""
    best = (9.0, 9.0)
    for _ in range(quick(12, 2)):
        start = time.perf_counter()
        y = run(stage, x, ids)
        middle = time.perf_counter()
        y.backward(torch.ones_like(y))
        best = min(best, (middle - start, time.perf_counter() - middle), key=sum)
    return best


# %% tags=["time"]
large = intro.read_flags(["--batch-size", "3", "--tokenizer", "stories-4096"])
large_net = intro.make_model(large, intro.make_tokenizer(large))
text = next(intro.stories_of_ranks(large, intro.make_tokenizer(large), ranks=1))
three_parts = slice_stages(large_net, [0, 6, 0])
vectors = three_parts[0](text).detach().requires_grad_()
pieces = []
for stage, x, count in zip(three_parts, (text, vectors, vectors), (1, 6, 1), strict=True):
    memory = 16 * sum(p.numel() for p in stage.parameters()) + saved_bytes(stage, x, text)
    forward, backward = (took / count for took in seconds(stage, x, text))
    pieces.append(Piece(forward, backward, memory / count))
embedding, layer, head = pieces
for name, piece in zip(("embedding", "one layer", "head"), pieces, strict=True):
    print(
        f"{name:10} forward {1e3 * piece.forward:5.2f} ms, backward {1e3 * piece.backward:5.2f} ms"
    )

# %% tags=["time"]
sliders = cuts(6, *pieces, counts=(2, 2, 2))
show(sliders.picture(), live=lambda: sliders)
worth = head.seconds / layer.seconds
claim.below("a layer's seconds, and the head's", layer.seconds, head.seconds, spread=0.2)
reveal("L05-4", worth=worth)

# %% [markdown]
# An embedding only looks up rows, which costs next to nothing. The head multiplies every vector
# with a matrix as large as the vocabulary, and a softmax over all of it follows. In the naive
# pipeline this imbalance costs nothing, because $T$ is the sum of all stages anyway. But as soon as
# several pieces of a batch are under way at once (lesson 06), the slowest stage sets the pace for
# all.
#
# With a running kernel you see two handles above: drag the cuts, and look for the cut whose longest
# bar is shortest. Without one, let a loop try all of them:


# %% tags=["time"]
def slowest_first(counts):
    times = [layer.seconds * count for count in counts]
    times[0] += embedding.seconds
    times[-1] += head.seconds
    return sorted(times, reverse=True)


every_cut = [(a, b, 6 - a - b) for a in range(7) for b in range(7 - a)]
best = min(every_cut, key=slowest_first)
gain = slowest_first((2, 2, 2))[0] / slowest_first(best)[0]
claim.below(f"share of its time that the slowest stage takes with {best}", 1 / gain, 1, spread=0.1)
show(cut(best, *pieces))

# %% [markdown]
# Does that hold for real ranks? The same three processes run your function on both cuts, and we ask
# what share of the computing falls to the busiest rank:


# %% tags=["time"]
def run_cut(counts, steps):
    place = find_place()
    stage, recorder = slice_stage(large_net, place.rank, counts), Recorder(place.rank)
    for _ in range(steps):
        stage.zero_grad()
        intro_PP_naive.forward_backward(stage, text, place, recorder)
    took = {kind: [e.duration for e in recorder.trace().events if e.kind == kind] for kind in "FB"}
    return median(took["F"]) + median(took["B"])


def busiest(counts):
    times = launch(run_cut, ranks=3, args=(counts, quick(15, 3)), quiet=True)
    return max(times) / sum(times)


even, cured = busiest([2, 2, 2]), busiest(list(best))
words = f"share of the computing on the busiest rank with {best}, and with 2 + 2 + 2"
claim.below(words, cured, even, spread=0.05)

# %% [markdown]
# That is why the first and the last stage of Llama 3 are one layer shorter than the others: it has
# 126 layers on 16 stages, not 128. There the first stage needs relief as well, for a reason that
# we'll meet in lesson 06: it has to keep the activations of more micro-batches than any other.
#
# **Three numbers to work out.** First, a model of 32 equal layers is cut into four stages, and its
# head costs as much as three layers. How many layers should the last stage hold, so that its time
# is as close as possible to an even share?

# %%
mine = None
answer("L05-5", mine)

# %% [markdown]
# Second, a naive pipeline has eight equal stages. What share of the time does each rank wait, as a
# number between 0 and 1?

# %%
mine = None
answer("L05-6", mine)

# %% [markdown]
# Third, a model has `dmodel` 4096, and a batch has 4 sequences of 2048 tokens, in numbers of 2
# bytes. The link between two stages carries 50 GB/s. How many milliseconds does one activation
# take?

# %%
mine = None
answer("L05-7", mine)

# %% [markdown]
# ## What to remember
#
# - A pipeline cuts the model into stages, one a device, so each device needs room for its own stage
#   only. What travels doesn't grow with the stage.
# - Forward sends the activation $y$; backward returns $\partial L/\partial y$, of the same shape.
#   With that, the gradients are exactly those of one device.
# - In a naive pipeline one rank computes and the others wait: the bubble is $(p-1)/p$, whatever the
#   cut. It buys memory, never time.
# - Layers aren't everything. The head can cost as much as several layers, so a good cut leaves the
#   last stage fewer of them.
#
# ## In the wild
#
# - **Llama 3 405B**: 16 stages, 126 layers. One layer was taken from the first and one from the
#   last stage to balance the pipeline ([2407.21783](https://arxiv.org/abs/2407.21783), section
#   3.3.2).
# - **BLOOM 176B**: 12 stages, 70 layers. Its vocabulary of 250,680 tokens makes an embedding larger
#   than a layer (3.6 against 2.5 billion parameters), so the two ends hold five layers each and the
#   ten others six ([its training
#   notes](https://github.com/bigscience-workshop/bigscience/blob/master/train/tr11-176B-ml/README.md)).
# - **DeepSeek-V3**: 16 stages for 61 layers, on 2,048 H800 GPUs
#   ([2412.19437](https://arxiv.org/abs/2412.19437), section 3.2).
#
# To read: `get_num_layers_to_build` in `megatron/core/transformer/transformer_block.py` of
# Megatron-LM decides how many layers a rank gets. Look for
# `account_for_embedding_in_pipeline_split` and `account_for_loss_in_pipeline_split`, and say what
# each of them does to the count.
#
# ## Where next
#
# [Lesson 06](06_micro_batches.ipynb) cuts the batch as well, so that the ranks have something to do
# while they wait.
