# %% [markdown]
# # The naive pipeline: a model too large for one device
#
# **Needs:** two cores, no network. **Takes:** one minute.
#
# With data parallelism every device holds the whole model. A model of 400 billion weights does not
# fit into any device. So we cut the model itself. Each device holds some of its layers: a
# **stage**. A batch walks through the stages, one after the other: a **pipeline**.
#
# **Question.** Each device sees only a part of the model. How can all of them learn exactly what
# one big device would learn?

# %%
# needs: primer/intro.py, PP/naive/intro_PP_naive.py
import sys

import torch

from helpers.grade import check
from helpers.lesson import answer, predict, show, show_diff
from helpers.ranks import find_place, launch
from helpers.schedules import naive
from helpers.simulate import Costs, simulate
from helpers.trace import bubble, with_waits
from simplellm.losses import causalLLMLoss
from simplellm.slicing import slice_stages, whole_name

sys.path[:0] = ["../primer", "../PP/naive"]
import intro

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## Cut a model into stages
#
# The first stage has the embedding and two layers. The middle has two layers. The last has two
# layers and the head, which turns hidden states into one score for each piece of the vocabulary.

# %%
options = intro.read_flags(["--batch-size", "3"])
tokenizer = intro.make_tokenizer(options)
torch.manual_seed(0)
net = intro.make_model(options, tokenizer)
ids = next(intro.stories_of_ranks(options, tokenizer, ranks=1))
stages = slice_stages(net, 3)
for number, stage in enumerate(stages):
    weights = sum(p.numel() for p in stage.parameters())
    print(f"stage {number}: {type(stage).__name__:16} {weights:8,} weights")

x = ids
for stage in stages:
    x = stage(x)
print("the same scores as the whole model:", torch.equal(x, net(ids)))

# %% [markdown]
# Forward is easy: give the output of one stage to the next. What travels is the **activation**, one
# vector of `dmodel` numbers for each token. It does not grow with the number of weights in a stage.

# %%
activation = stages[0](ids)
print(f"one activation: {tuple(activation.shape)}, {4 * activation.numel() / 1e3:.0f} kB")
print(f"all weights: {4 * sum(p.numel() for p in net.parameters()) / 1e3:.0f} kB")

# %% [markdown]
# ## Backward, across a border
#
# Autograd knows only what happened in its own process. At the border between two devices the chain
# is cut. Here we cut it by hand: `detach()` takes a tensor out of its history, as a message does.

# %%
predict(
    "The last stage has computed its loss and calls backward. What must it send to the stage "
    "before it?",
    "the gradient of every weight of the stage before",
    "the gradient of the loss with respect to the activation that it received",
    "the loss",
)

# %%
first, rest = stages[0], stages[1:]
y = first(ids)
received = y.detach().requires_grad_()  # what arrives has no history
x = received
for stage in rest:
    x = stage(x)
causalLLMLoss(x, ids, tokenizer.vocab_size).backward()
print("to be sent back:", tuple(received.grad.shape))
y.backward(received.grad)  # the stage before goes on from there

# %%
causalLLMLoss(net(ids), ids, tokenizer.vocab_size).backward()
expected = {name: p.grad for name, p in net.named_parameters()}
largest = 0.0
for stage in stages:
    for name, p in stage.named_parameters():
        whole = expected[whole_name(name, stage.first_layer)]
        largest = max(largest, (p.grad - whole).abs().max().item())
print(f"largest difference in a gradient: {largest:.1e}")

# %% [markdown]
# One tensor forward, one tensor of the same shape backward: that is all that two neighbours tell
# each other. It is the chain rule, with a message in the middle.
#
# ## From one device to three stages
#
# This is all that changes in the script:

# %%
show_diff("primer/intro.py", "PP/naive/intro_PP_naive.py", context=1)

# %% [markdown]
# ## Run it
#
# Three real processes, each with a third of the layers. One device trains beside them.

# %%
import intro_PP_naive

flags = ["--steps", "30", "--optimizer", "sgd", "--lr", "0.3"]
alone, whole, _ = intro.train(intro.read_flags(flags), say=lambda step, loss: None)


def train_rank(flags):
    options = intro_PP_naive.read_flags(flags)
    losses, stage, trace = intro_PP_naive.train(options, find_place(), "cpu", lambda *_: None)
    named = {whole_name(n, stage.first_layer): w for n, w in stage.state_dict().items()}
    return losses, named, trace


ranks = launch(train_rank, ranks=3, args=(flags,), quiet=True)

# %%
weights = whole.state_dict()
for rank, (_, mine, _) in enumerate(ranks):
    far = max((mine[name] - weights[name]).abs().max().item() for name in mine)
    print(f"rank {rank}: {len(mine):2} tensors, largest difference after 30 steps {far:.1e}")
print(f"last loss: one device {alone[-1]:.4f}, pipeline {ranks[-1][0][-1]:.4f}")

# %% [markdown]
# The weights are those of one device. And no rank ever held the whole model while it trained.
#
# ## Where the time goes

# %%
predict(
    "Three ranks, one batch. How much of the time does a rank wait, if all stages take equally "
    "long and messages cost nothing?",
    "hardly at all: three ranks share the work",
    "one third",
    "two thirds",
)

# %%
plan = simulate(naive(3), Costs(forward=1, input_grad=1, weight_grad=1))
show(plan.trace)

# %% [markdown]
# A picture from a clock that only counts: forward takes 1 s and backward 2 s. While one rank
# works, all others wait. This waiting is called the **bubble**. With `p` stages each rank works
# for one part of `p`, so the bubble is `(p - 1) / p` of the time.
#
# And now what the real ranks did, in three of their steps:

# %%
trace = with_waits(ranks[0][2].merged(ranks[1][2], ranks[2][2]))
ends = [e.end for e in trace.events_of(0) if e.kind == "update"]
steps = trace.between(ends[9], ends[12])
show(steps)
print(f"bubble: {100 * bubble(steps):.0f} % of the time")

# %% [markdown]
# The same stairs. The last rank works a little longer than the others: its head is the largest
# matrix of the model. Three devices take about as long as one. What we have won is room, not time.
#
# The next lesson fills the bubble.
#
# ## What to remember
#
# - A pipeline cuts the model into stages. Each device holds one.
# - Forward, a stage sends its activation to the next one. Backward, it sends back the gradient of
#   that activation. Nothing else travels.
# - The gradients are exactly those of one device.
# - In a naive pipeline one device works, and all others wait: the bubble is `(p - 1) / p`.
#
# ## Exercises
#
# **1. Task PP-1: the naive pipeline.** Open the file named below, write the body, and run the
# check.

# %%
check("PP-1")

# %% [markdown]
# **2.** A naive pipeline has eight equal stages. What share of the time does each rank wait, as a
# number between 0 and 1?

# %%
mine = None
answer(mine, lambda: 7 / 8)

# %% [markdown]
# **3.** A model has `dmodel` 4096. A batch has 4 windows of 2048 tokens, in numbers of 2 bytes. How
# many bytes does one stage send to the next in one forward?

# %%
mine = None
answer(mine, lambda: 4 * 2048 * 4096 * 2)
