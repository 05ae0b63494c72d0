# %% [markdown]
# # The naive pipeline: a model too large for one device
#
# *Reading 35 minutes, tasks 30*
#
# *With twenty minutes: as far as the first drawing, then "Where the time goes".*
#
# Data parallelism, as we know it so far, has a weakness that more devices don't cure: each of them
# holds the whole model. With Adam in mixed precision a parameter takes 16 bytes (2 for the weight,
# 2 for its gradient, 12 for the optimizer's states), so Llama 3 with its 405 billion parameters
# needs 6.5 TB even for a batch of one token, and an H100 has 80 GB. No batch size is small enough
# to make that fit.
#
# One cure is to shard the weights and gather them when they're needed (lesson 13). Another is to
# cut the model itself: each device holds a few of its layers, called a **stage**, and a batch
# travels through the stages one after the other. That's a **pipeline**. (A third, cutting inside
# each layer, is lesson 14.)
#
# **Question.** Each device sees only a part of the model. How can all of them together learn
# exactly what one big device would learn, and what does it cost?

# %%
import sys
import time

import torch
import torch.distributed as dist

from helpers.check import check, solve
from helpers.hang.monitor import record_messages
from helpers.lesson import answer, claim, predict, reveal, show, show_diff
from helpers.ranks import find_place, launch
from helpers.schedules import naive
from helpers.simulate import simulate
from helpers.trace import Recorder, bubble, with_waits
from simplellm.losses import causalLLMLoss
from simplellm.slicing import slice_stage, slice_stages, whole_name, whole_weights

sys.path[:0] = ["../primer", "../PP/naive"]
import intro
import intro_PP_naive

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

# %%
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
# depend on how many layers a stage has: there may be billions of parameters behind the boundary,
# and still only one tensor crosses it.

# %%
activation = parts[0](ids)
shape = " × ".join(map(str, activation.shape))
everything = 4 * sum(p.numel() for p in net.parameters())
print(f"one activation: {shape} numbers, {4 * activation.numel() / 1e3:.0f} kB")
print(f"all gradients, which data parallelism would average: {everything / 1e3:.0f} kB")

# %% [markdown]
# The activation grows with the batch, though: with 22 times as many tokens it would be as large as
# all our gradients. Lesson 08 compares the two for real models.
#
# With a `dmodel` of 4096, a batch of 4 sequences of 2048 tokens has activations of 4 · 2048 · 4096
# numbers, 67 MB at 2 bytes each. A link of 50 GB/s between two stages takes 1.3 ms for them.
#
# ## Backward, across a boundary
#
# Backward is the half that takes some thought. Autograd records what happens inside one process,
# and a message carries numbers without any record of where they came from. So at the boundary
# between two devices, the chain that `loss.backward()` would follow is broken.

# %% jupyter={"source_hidden": true}
predict(
    "naive_pipeline-1",
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
reveal("naive_pipeline-1")

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
print(f"largest difference from the gradients of the whole model: {far:.1e}")
assert far < 1e-6

# %% [markdown]
# This is the chain rule with a message in the middle. Say the stage computes $y = f(x, \theta)$ and
# everything after it turns $y$ into the loss $L$. Then
#
# $$\frac{\partial L}{\partial \theta} = \Big(\frac{\partial y}{\partial \theta}\Big)^{\!\top}
# \frac{\partial L}{\partial y}, \qquad
# \frac{\partial L}{\partial x} = \Big(\frac{\partial y}{\partial x}\Big)^{\!\top}
# \frac{\partial L}{\partial y}.$$
#
# Everything that comes after the stage enters only through $\partial L/\partial y$, which has the
# shape of $y$. The left equation yields the stage's own gradients; the right one is what it sends
# further back. `y.backward(gradient)` computes both at once.
#
# ![A model in three stages: rank 0 holds the embedding and layers 0 and 1, rank 1 layers 2 and 3,
# rank 2 layers 4 and 5 and the head. Each sends one tensor y of shape 3 × 128 × 64 to the next, and
# the next sends the gradient of the loss with respect to that y back. The last one computes the
# loss.](../imgs/stages.svg)
#
# ## From one device to three stages
#
# In the script, the training loop hardly changes. Forward and backward of a batch move into one
# function, because there are now messages in between:

# %% jupyter={"source_hidden": true}
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
def train_rank(flags):
    options = intro_PP_naive.read_flags(flags)
    return intro_PP_naive.train(options, find_place(), "cpu", lambda step, loss: None)


flags = ["--steps", quick("30", "3"), "--optimizer", "sgd", "--lr", "0.3"]
losses, whole, _ = intro.train(intro.read_flags(flags), lambda step, loss: None)
ranks = launch(train_rank, 3, (flags,), quiet=True)

# %%
for rank, (_, stage, _) in enumerate(ranks):
    mine, theirs = whole_weights(stage), whole.state_dict()
    apart = max((mine[name] - theirs[name]).abs().max().item() for name in mine)
    print(f"rank {rank}, {len(mine):2} tensors: {apart:.1e} from one device's")
    assert apart < 1e-6
print(f"last loss: one device {losses[-1]:.4f}, pipeline {ranks[-1][0][-1]:.4f}")

# %% [markdown]
# The weights are those of one device, and no rank ever trained more than its own stage. (So that
# all layouts start alike, ours still draws the whole model on each rank first; real code doesn't.)
#
# ## What each rank keeps
#
# Memory was the point, so let's count it. A rank keeps its own stage's weights, gradients and
# optimizer states, plus, between forward and backward, whatever autograd saves. Three ranks share
# one model, so is it a third of one device's memory? Guess a number for the fullest rank first.


# %%
def saved_bytes(module, forward):
    sizes = {}

    def keep(tensor):  # autograd calls it with each tensor that it keeps
        sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        forward()
    weights = {p.untyped_storage().data_ptr() for p in module.parameters()}
    return sum(size for place, size in sizes.items() if place not in weights)


def loss_of(y):
    return causalLLMLoss(y, ids, tokenizer.vocab_size)


# %%
first = parts[0](ids).detach().requires_grad_()  # as it would arrive, to be backward through
second = parts[1](first).detach().requires_grad_()
rows = {
    "one device": (net, lambda: loss_of(net(ids))),
    "rank 0": (parts[0], lambda: parts[0](ids)),
    "rank 1": (parts[1], lambda: parts[1](first)),
    "rank 2": (parts[2], lambda: loss_of(parts[2](second))),
}
print("kB             weights  gradients       Adam activations        all")
for who, (module, forward) in rows.items():
    each = 4 * sum(p.numel() for p in module.parameters())
    sizes = each, each, 2 * each, saved_bytes(module, forward)
    print(f"{who:11}", *(f"{size / 1e3:10,.0f}" for size in (*sizes, sum(sizes))))

# %% [markdown]
# The fullest rank keeps 40 % of one device's memory, not a third. The activations are divided as
# well, because each stage saves only what its own layers need (in lesson 06, for each micro-batch
# under way). Only the two ends aren't divided evenly: the embedding and the head are each a table
# with a row for every token, and the last rank keeps the scores and the loss on top.
#
# ## Where the time goes
#
# So the pipeline keeps its promise about memory. What does it do to time?

# %% jupyter={"source_hidden": true}
predict(
    "naive_pipeline-3",
    "Three ranks, one batch after the other, equal stages, free messages. What share of the time "
    "is a rank idle?",
    "hardly any: three ranks share the work",
    "one third",
    "two thirds",
)

# %%
plan = simulate(naive(3))
show(plan.trace)
print(f"a step takes {plan.step_time:g} s, and each rank computes {plan.busy[0]:g} s of it")
reveal("naive_pipeline-3", share=plan.bubble())

# %% [markdown]
# The simulator plays the step with a forward of 1 s and a backward of 2 s. At every moment one rank
# computes and the others are idle. The share of all their time in which ranks are idle is called
# the **bubble**, and here we can derive it in two lines. Say rank $r$ takes $T_r$ for forward and
# backward. The batch passes through all of them, one at a time, so a step takes
# $T = T_0 + \dots + T_{p-1}$. In that time the $p$ ranks have $pT$ seconds together, and they use
# $T_0 + \dots + T_{p-1}$, which is $T$ again:
#
# $$\text{bubble} = \frac{pT - T}{pT} = \frac{p - 1}{p}.$$
#
# As long as messages are free, nothing here asks for equal stages: the naive pipeline wastes
# $(p-1)/p$ however you cut the model. And it gets worse with every device: with eight it's 7/8.
#
# Every timeline of this course names what a rank does in four words. It's **busy** if it computes;
# **communicating** in a collective to which every rank has come; **waiting** for something that
# isn't there yet, such as a message (one in transit counts, too); and **finished** if it has
# nothing left to do in this step. The bubble is everything that isn't busy. (Megatron's papers
# divide it by the time of a step without one, and theirs is larger: lesson 06.)
#
# Now three real processes run your `forward_backward()`. They send real messages, but as in lesson
# 03 they sleep where a device would compute, 60 ms forward and 120 ms backward, so that we can
# imitate three devices without three cores:


# %%
FORWARD, BACKWARD = 0.06, 0.12


class Paced(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y):
        time.sleep(FORWARD)
        return y.clone()

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(BACKWARD)
        return gradient


# %%
def paced_steps(steps):
    place, traces = find_place(), []
    stage = slice_stage(net, place.rank, 3)
    stage.register_forward_hook(lambda module, given, y: Paced.apply(y))
    for _ in range(steps):
        recorder = Recorder(place.rank)
        dist.barrier()
        with record_messages(recorder):
            intro_PP_naive.forward_backward(stage, ids[:1, :16], place, recorder)
        traces.append(recorder.trace())
    return traces


# %% tags=["time"]
by_rank = launch(paced_steps, 3, args=(quick(6, 2),), quiet=True, checked=False)
steps = [with_waits(first.merged(*others)) for first, *others in zip(*by_rank, strict=True)]
step = min(steps, key=lambda each: each.duration)
show(step)

# %% tags=["time"]
claim("bubble", bubble(step), 2 / 3, within=0.05)
claim("seconds of the step", step.duration, 3 * (FORWARD + BACKWARD), unit=" s")

# %% [markdown]
# It's the same staircase (the picture calls finished ranks *idle*), a little longer, because a
# sleeping rank wakes up late and messages take time. So what have we gained? One device, if it were
# large enough, would compute the same layers in the same $T$, without any message. Here all
# messages are on the critical path: $p-1$ activations forward and as many gradients back. For a
# model of width 4,096 as above and four stages that's $6 \times 1.34 = 8$ ms a batch.
#
# We've bought memory, but no time. The next lesson is about filling the bubble.
#
# ## Which rank has the most work?
#
# Two of six equal layers for each rank sounds fair. But rank 0 has the embedding as well, and rank
# 2 the head with the loss. **Guess first:** with a vocabulary of 4,096 tokens, which of the three
# computes longest? We time each kind of piece alone, with a model cut into 0 + 6 + 0 layers:

# %% tags=["time"]
large = intro.read_flags(["--batch-size", "3", "--tokenizer", "stories-4096"])
large_tokenizer = intro.make_tokenizer(large)
embedding, layers, head = slice_stages(intro.make_model(large, large_tokenizer), [0, 6, 0])
text = next(intro.stories_of_ranks(large, large_tokenizer, ranks=1))
vectors = embedding(text).detach().requires_grad_()


def once(forward):
    start = time.process_time()  # what other programs do meanwhile doesn't count
    y = forward()
    y.backward(torch.ones_like(y))
    return time.process_time() - start


pieces = {
    "embedding": lambda: embedding(text),
    "six layers": lambda: layers(vectors),
    "head and loss": lambda: causalLLMLoss(head(vectors), text, 4096),
}
took = {name: min(once(each) for _ in range(quick(30, 2))) for name, each in pieces.items()}
for name, seconds in took.items():
    print(f"{name:14}{1e3 * seconds:6.2f} ms forward and backward")

# %% [markdown]
# An embedding only looks up rows. The head multiplies every vector by a matrix with a row for every
# token of the vocabulary, and a softmax follows. In the naive pipeline this costs nothing, because
# $T$ is the sum of all stages anyway. But as soon as several pieces of a batch are under way at
# once (lesson 06), the slowest stage sets the pace for all. So try every cut:


# %% tags=["time"]
def slowest(cut):
    first, middle, last = (took["six layers"] / 6 * count for count in cut)
    return max(first + took["embedding"], middle, last + took["head and loss"])


best = min(((a, b, 6 - a - b) for a in range(7) for b in range(7 - a)), key=slowest)
for cut in ((2, 2, 2), best):
    print(f"cut {cut}: the slowest stage takes {1e3 * slowest(cut):.1f} ms")

# %% [markdown]
# How much does the head matter in a real model? A product takes 2 FLOPs for each weight and token,
# so where products take nearly all of the time, count weights. (In our narrow model they don't: the
# head has four layers' weights, and took less time.) A layer has four matrices in attention (K and
# V are narrower, as several heads of queries share one of keys and values), three in SwiGLU:

# %%
models = {  # vocabulary, width, width inside SwiGLU, heads of keys and values per head of queries
    "Llama 3 8B": (128_256, 4096, 14_336, 1 / 4),
    "Llama 3 405B": (128_256, 16_384, 53_248, 1 / 16),
}
for name, (vocabulary, d, f, shared) in models.items():
    one_layer = (2 + 2 * shared) * d**2 + 3 * d * f
    print(f"{name:13} the head has the weights of {vocabulary * d / one_layer:.2f} layers")

# %% [markdown]
# With one vocabulary, the wider the model, the less the head weighs, because a layer grows with
# $d^2$ and the head only with $d$. An even share of the work is (layers + head) / stages, so the
# last stage should hold an even share minus the head, counted in layers.
#
# **Llama 3 8B has 32 layers. Cut into four stages, how many should the last one hold, so that its
# computing comes closest to an even share?** Take 2.4 layers for the head.

# %%
mine = None
answer("naive_pipeline-5", mine)

# %% [markdown]
# In 405B the head is two thirds of a layer, so the last stage should hold just one layer fewer than
# the others. That explains half of a strange number: this model has 126 layers on 16 stages, and
# not 128. Fourteen stages hold eight, and the last one holds seven and the head, or 7.66. The first
# one holds seven, too, because it keeps the activations of more micro-batches than any other
# (lesson 06), and next to them an embedding of 2.1 billion parameters.
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - A pipeline cuts the model into stages, one per device, so each device needs room only for its
#   own stage. What travels grows with the tokens of the batch, but not with the stage.
# - Forward sends the activation $y$; backward returns $\partial L/\partial y$, of the same shape.
#   With that, the gradients are those of one device, up to rounding.
# - In a naive pipeline one rank computes and the others are idle: the bubble is $(p-1)/p$, whatever
#   the cut. All devices together are no faster than one, and $2(p-1)$ messages come on top.
# - Layers aren't everything: the head costs as much as 2.4 of them in Llama 3 8B, and less than one
#   in Llama 3 405B. A good cut leaves the last stage fewer layers.
#
# ## In the wild
#
# - **Llama 3 405B**: the 126 layers, and why ([2407.21783](https://arxiv.org/abs/2407.21783),
#   section 3.3.2).
# - **BLOOM 176B**: 12 stages, 70 layers. Its vocabulary of 250,680 tokens makes an embedding larger
#   than a layer (3.6 against 2.5 billion parameters), so the two ends hold five layers each, which
#   evens out their memory, and the ten others six
#   ([its training notes](https://github.com/bigscience-workshop/bigscience/blob/master/train/tr11-176B-ml/README.md)).
#
# To read: `get_num_layers_to_build` in `megatron/core/transformer/transformer_block.py` of
# Megatron-LM decides how many layers a rank gets. What do `account_for_embedding_in_pipeline_split`
# and `account_for_loss_in_pipeline_split` do to the count?
#
# ## Where next
#
# [Lesson 06](06_micro_batches.ipynb) cuts the batch as well, so that the ranks have something to do
# while they wait.
