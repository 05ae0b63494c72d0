# %% [markdown]
# # Data parallel: many devices average their weights
#
# **Needs:** two cores, no network. **Takes:** one minute.
#
# Many phones hold texts that must stay private. **Federated learning** lets each phone train on its
# own text; only the weights travel, and their mean is the new model for all (McMahan et al. 2017,
# [FedAvg](https://arxiv.org/abs/1602.05629)). In a cluster nothing is private, but the idea is of
# use there too: weights can be averaged much less often than gradients.
#
# **Question.** When is the mean of the weights as good as the mean of the gradients, and what does
# it cost to average less often?

# %%
# needs: primer/intro.py, DP/*
import copy
import math
import sys

import torch
import torch.distributed as dist

from helpers.draw import compare, curves
from helpers.grade import check
from helpers.lesson import answer, predict, show, show_diff
from helpers.ranks import launch
from helpers.trace import Recorder, Trace, with_waits
from simplellm.losses import causalLLMLoss
from simplellm.options import make_model, make_optimizer, make_stories, make_tokenizer

sys.path[:0] = ["../primer", "../DP/weight_aggr", "../DP/partition"]
import intro

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## From gradients to weights
#
# In the lesson before, all ranks averaged their gradients, and then took the same step. Now every
# rank takes a step of its own, and then all average their weights:

# %%
show_diff("DP/gradient_aggr/intro_DP_GA.py", "DP/weight_aggr/intro_DP_WA.py", context=1)

# %% [markdown]
# All $n$ ranks start a step with the same weights $W$. Rank $r$ has its own gradient $g_r$. With
# SGD its weights become $W_r = W - \lambda g_r$, and their mean is
#
# $$\frac{1}{n}\sum_r W_r \;=\; \frac{1}{n}\sum_r (W - \lambda g_r)
# \;=\; W - \lambda \Big( \frac{1}{n}\sum_r g_r \Big).$$
#
# On the right stands the step with the averaged gradients. The two are the same, for two reasons:
# all ranks started from the same $W$, and the step is **linear** in the gradient (the mean of three
# steps is the step of the mean).
#
# Two other optimizers:
#
# - **SGD with momentum** keeps a running sum of gradients, the **buffer**:
#   $m_r \leftarrow \mu m_r + g_r$, then $W_r = W - \lambda m_r$. Each rank has a buffer of its own,
#   and nobody averages those.
# - **Adam** divides each gradient by its own recent size.

# %%
predict(
    "Every rank takes its own step, then all average their weights. With which optimizers is that "
    "the step of the averaged gradients?",
    "only plain SGD",
    "SGD, also with momentum",
    "SGD, momentum and Adam",
)

# %% [markdown]
# ## The experiment, with 16 digits
#
# We want the arithmetic only. So three models in one process play the three ranks, and all numbers
# are **float64**: 16 digits, so that rounding hides nothing.

# %%
flags = "--layers 1 --dmodel 24 --heads 2 --seq-l 32 --tokenizer stories-1024".split()
options = intro.read_flags(flags)
tokenizer = intro.make_tokenizer(options)


def fresh(seed=0):
    torch.manual_seed(seed)
    return intro.make_model(options, tokenizer).double()


def backward(net, ids, factor=1):
    net.zero_grad()
    loss = causalLLMLoss(net(ids), ids, tokenizer.vocab_size)
    (factor * loss).backward()
    return loss.item()


# %%
def average(ranks):
    """ranks: for each rank the list of its tensors. Each becomes the mean over the ranks."""
    with torch.no_grad():
        for same in zip(*ranks, strict=True):
            mean = sum(same) / len(same)
            for tensor in same:
                tensor.copy_(mean)


def weights(nets):
    return [list(net.parameters()) for net in nets]


def flat(net):
    return torch.cat([p.detach().flatten() for p in net.parameters()])


# %% [markdown]
# One device takes batches of three windows: from the lesson before we know that this **is** the
# mean of three gradients. The three ranks take one window each. How far apart are the two, compared
# with the way that the weights have gone since the start?


# %%
def both_ways(make_optimizer, steps=20):
    one, ranks, distances = fresh(), [fresh() for _ in range(3)], []
    optimizers = [make_optimizer(net.parameters()) for net in (one, *ranks)]
    stories = intro.stories_of_ranks(options, tokenizer, ranks=3)
    start = flat(one)
    for _ in range(steps):
        ids = next(stories)
        for net, part in zip((one, *ranks), (ids, *ids.split(1)), strict=True):
            backward(net, part)
        for optimizer in optimizers:
            optimizer.step()
        average(weights(ranks))
        way = (flat(one) - start).norm()
        distances.append(((flat(one) - flat(ranks[0])).norm() / way).item())
    return one, ranks, optimizers, distances


# %%
OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.5),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=6e-3),
}
runs = {name: both_ways(make) for name, make in OPTIMIZERS.items()}
for name, (_, _, _, distances) in runs.items():
    print(
        f"{name:9} after 1 step {distances[0]:.1g}, after 20 steps {distances[-1]:.1g} of the way"
    )

# %%
powers = {name: [math.log10(d) for d in run[3]] for name, run in runs.items()}
title = "SGD and momentum agree to the last digits; Adam goes another way from the first step"
show(curves(powers, title, y="distance / way, as a power of ten"))

# %% [markdown]
# Also tensor by tensor. Here is the largest difference of any entry, after the 20 steps:

# %%
print(f"{'':48}" + "".join(f"{name:>10}" for name in runs))
for name, _ in runs["SGD"][0].named_parameters():
    row = f"{name:48}"
    for one, ranks, _, _ in runs.values():
        difference = one.get_parameter(name) - ranks[0].get_parameter(name)
        row += f"{difference.abs().max().item():10.1g}"
    print(row)

# %% [markdown]
# With momentum, every rank has a buffer of its own. Why does nobody have to average them? The
# buffer is linear in the gradients too. So the *mean* of the three buffers is the buffer of the one
# device, and only the mean shows in the averaged weights.

# %%
one, ranks, optimizers, _ = runs["momentum"]
nets = [one, *ranks]
alone, *buffers = (
    optimizer.state[net.lm_head.weight]["momentum_buffer"]
    for net, optimizer in zip(nets, optimizers, strict=True)
)
print(f"rank 0 and rank 1 differ by {(buffers[0] - buffers[1]).abs().max():.2f}")
print(f"their mean and one device   {(sum(buffers) / 3 - alone).abs().max():.1g}")

# %% [markdown]
# Adam is not linear. In its first step every weight moves by $\lambda$, up or down: only the *sign*
# of the gradient counts. Averaged gradients have one sign, so the step is a full $\lambda$.
# Averaged weights are the mean of three signs: $\lambda$ where all ranks agree, and $\lambda / 3$
# where one is against the others.

# %%
one, ranks, _, _ = both_ways(OPTIMIZERS["Adam"], steps=1)
for name, net in (("averaged gradients", one), ("averaged weights", ranks[0])):
    moved = (flat(net) - flat(fresh())).abs() / 6e-3
    moved = moved[moved > 0.01]  # without the pieces of text that no window contains
    full, third = ((moved - size).abs() < 0.05 for size in (1, 1 / 3))
    print(f"{name:18}  full step {full.double().mean():4.0%}, a third {third.double().mean():4.0%}")

# %% [markdown]
# So with Adam, averaging weights is another algorithm. Is it a worse one? Below we measure it, on
# text that nobody has trained on.
#
# ## Another start
#
# The second reason was: all start from the same weights. What if somebody forgets the seed, and
# every rank starts with a model of its own?

# %%
predict(
    "Three ranks start from three different models. Which way makes them one model?",
    "averaging gradients",
    "averaging weights",
    "both, after some steps",
)


# %%
def from_three_starts(what, steps=20):
    ranks, distances = [fresh(seed) for seed in range(3)], []
    stories = intro.stories_of_ranks(options, tokenizer, ranks=3)
    for _ in range(steps):
        distances.append((flat(ranks[0]) - flat(ranks[1])).norm().item())
        for net, window in zip(ranks, next(stories).split(1), strict=True):
            backward(net, window)
        if what == "gradients":
            average([[p.grad for p in net.parameters()] for net in ranks])
        for net in ranks:
            torch.optim.SGD(net.parameters(), lr=0.5).step()
        if what == "weights":
            average(weights(ranks))
    return distances


# %%
apart = {f"averaged {what}": from_three_starts(what) for what in ("gradients", "weights")}
title = "Averaged gradients keep a difference for ever; averaged weights end it"
show(curves(apart, title, y="distance of rank 0 from rank 1"))

# %% [markdown]
# Averaged gradients move all ranks by the same step. So the distance stays as it was: three
# different models, each fed with gradients of the others. Averaged weights are one model after the
# first step.
#
# ## Three real ranks
#
# Now with processes and messages. `average_weights` of the script gives every rank the mean, by one
# all-reduce. A step has the usual parts:

# %%
import intro_DP_WA

SMALL = "--layers 2 --seq-l 64 --tokenizer stories-1024 --steps 48".split()
CHOICES = {"SGD": ["--optimizer", "sgd", "--lr", "0.3"], "Adam": ["--optimizer", "adam"]}


def local_step(net, optimizer, ids, recorder):
    optimizer.zero_grad()
    with recorder.span("F"):
        scores = net(ids)
        loss = causalLLMLoss(scores, ids, scores.shape[-1])
    with recorder.span("B"):
        loss.backward()
    with recorder.span("update"):
        optimizer.step()
    return loss.item()


# %% [markdown]
# The ranks average after `every` steps. We begin with 1, and try larger numbers at once, for later.


# %%
def train_rank(choice, every):
    options = intro_DP_WA.read_flags([*SMALL, *CHOICES[choice]])
    tokenizer = make_tokenizer(options)
    torch.manual_seed(0)
    net = make_model(options, tokenizer)
    optimizer = make_optimizer(options, net)
    stories = iter(make_stories(options, tokenizer, dist.get_rank(), 3))
    recorder, losses = Recorder(rank=dist.get_rank()), []
    for step in range(1, options.steps + 1):
        losses.append(local_step(net, optimizer, next(stories), recorder))
        if step % every == 0:
            with recorder.span("all-reduce"):
                intro_DP_WA.average_weights(net, 3)
    return losses, net, recorder.trace()


# %%
RUNS = [("SGD", 1), ("Adam", 1), ("Adam", 4), ("Adam", 16), ("Adam", 48)]
results = launch(lambda: [train_rank(*run) for run in RUNS], ranks=3, quiet=True)
ranks_of = dict(zip(RUNS, zip(*results, strict=True), strict=True))  # of each run, the three ranks

# %% [markdown]
# One device reads the same windows, three in a batch. Here are the largest differences of a weight:

# %%
one_device = {}
for choice, flags in CHOICES.items():
    alone = intro.read_flags([*SMALL, *flags, "--like-ranks", "3"])
    one_device[choice] = flat(intro.train(alone, say=lambda step, loss: None)[1])
    first, second = (flat(net) for _, net, _ in ranks_of[choice, 1][:2])
    print(
        f"{choice:4}  rank 0 differs from rank 1 by {(first - second).abs().max():.1g}, "
        f"from one device by {(first - one_device[choice]).abs().max():.1g}"
    )

# %% [markdown]
# The ranks agree with each other to the last bit, whatever the optimizer. With one device they
# agree for SGD only, up to rounding: these are ordinary floats, of seven digits.
#
# ## Average less often
#
# Weights take as many bytes as gradients. To average them after every step saves nothing. But now
# the ranks may take several steps between two averages. These are called **local steps**, and with
# SGD the method is **Local SGD** ([Stich 2019](https://arxiv.org/abs/1805.09767)).

# %%
predict(
    "48 steps with Adam, on the same windows. The ranks average after every step, every 4, every "
    "16, or only once, at the end. What happens to the loss on new text?",
    "nothing: the same windows are read",
    "the less often, the higher",
    "the less often, the lower",
)

# %% [markdown]
# We judge each model by stories that it has never read: the **held-out** loss.

# %%
from simplellm.dataloaders import TinyStories

new = TinyStories(tokenizer, batch_size=32, seq_l=64, split="validation", quiet=True)
held_out = next(iter(new))


@torch.no_grad()
def judge(net):
    return causalLLMLoss(net(held_out), held_out, tokenizer.vocab_size).item()


# %%
loss_of = {}
for every in (1, 4, 16, 48):
    _, net, trace = ranks_of["Adam", every][0]
    messages = sum(event.kind == "all-reduce" for event in trace.events)
    megabytes = messages * 4 * flat(net).numel() / 1e6
    loss_of[megabytes] = judge(net)
    print(f"every {every:2}: {messages:2} all-reduces, {megabytes:4.1f} MB, loss {judge(net):.3f}")

# %%
most, *less = loss_of.values()
more = [f"{loss - most:+.2f}" for loss in less]
title = f"A quarter of the bytes: {more[0]} nats. A sixteenth: {more[1]}. One average: {more[2]}"
bytes_sent = "MB that a rank gives into all-reduces"
show(curves({"48 steps": loss_of}, title, x=bytes_sent, y="held-out loss (nats per token)"))

# %% [markdown]
# Every fourth step: a quarter of the bytes, and the loss is a little higher. Every sixteenth: a
# sixteenth, and the loss is clearly higher. That is the trade. While the ranks are on their own,
# each learns from its own windows only, and they drift apart.


# %%
def eight_steps(every):
    first, *others = (trace for _, _, trace in ranks_of["Adam", every])
    trace = with_waits(first.merged(*others))
    ends = [e.end for e in trace.events_of(0) if e.kind == "update"]
    inside = [e for e in trace.events if ends[31] < e.start and e.end < ends[39]]
    return Trace(inside)


pictures = {"average every step": eight_steps(1), "average every 4 steps": eight_steps(4)}
show(compare(pictures))

# %% [markdown]
# On one machine a message is cheap. Between data centres it is not: there,
# [DiLoCo](https://arxiv.org/abs/2311.08105) (Douillard et al. 2023) lets each place take hundreds
# of steps with AdamW before all average, and treats the averaged change as a gradient for a second,
# outer optimizer with momentum.
#
# ## How a loss curve can lie
#
# **First: what a rank prints.** It is the loss on its own window, before the step and before the
# average. Here is the last step of the run that averages every step. All three ranks held the same
# model when they computed these.

# %%
ranks = ranks_of["Adam", 1]
for rank, (losses, _, _) in enumerate(ranks):
    print(f"rank {rank} prints {losses[-1]:.3f}")
print(f"after this step, on 32 new windows: {judge(ranks[0][1]):.3f}")

# %% [markdown]
# The difference between the ranks is in the windows, not in the models.
#
# **Second: the mean of the losses is not the loss of the mean.** We follow three models that
# average every 16 steps, and three that never do. Every 8 steps we judge the models as they are,
# and what their average would be.

# %%
predict(
    "How good is the average of three models, on new text, compared with the three models?",
    "always as good as their mean",
    "always better than their mean",
    "better while they are near each other, worse when they are far apart",
)

# %%
small = intro.read_flags(SMALL)


def three_ranks(choice="Adam"):
    torch.manual_seed(0)
    first = intro.make_model(small, tokenizer)
    nets = [first, copy.deepcopy(first), copy.deepcopy(first)]
    flags = intro.read_flags([*SMALL, *CHOICES[choice]])
    return nets, [intro.make_optimizer(flags, net) for net in nets]


def judge_the_mean(nets):
    copies = copy.deepcopy(nets)
    average(weights(copies))
    return judge(copies[0])


# %%
def follow(every, steps=48):
    nets, optimizers = three_ranks()
    stories = intro.stories_of_ranks(small, tokenizer, ranks=3)
    found = {"mean of the three losses": {}, "loss of the mean model": {}}
    for step in range(1, steps + 1):
        for net, optimizer, window in zip(nets, optimizers, next(stories).split(1), strict=True):
            backward(net, window)
            optimizer.step()
        if step % 8 == 0:
            found["mean of the three losses"][step] = sum(map(judge, nets)) / 3
            found["loss of the mean model"][step] = judge_the_mean(nets)
        if every and step % every == 0:
            average(weights(nets))
    return found


# %%
for name, every in (("Averaged every 16 steps", 16), ("Never averaged", 0)):
    found = follow(every)
    models, mean = (list(losses.values())[-1] for losses in found.values())
    title = f"{name}: after 48 steps the mean model has {mean:.2f}, the three models {models:.2f}"
    show(curves(found, title, y="held-out loss (nats per token)"))

# %% [markdown]
# While the three models are near each other, their mean is better than they are: what each has
# learned from the chance in its own windows cancels. Models that have been alone for too long have
# no use for a mean. What the ranks print shows neither. So judge the model that you will use:
# average first, then take the loss on new text.
#
# **Third: a wrong program has a good-looking curve.** Two mistakes, with Adam. One forgets to
# divide, so its gradients are three times too large. The other computes the mean and writes it
# nowhere: `p = mean` gives a name to a tensor, and changes no weight. Its three models never meet.


# %%
def train_three(factor, choice, steps=48):
    nets, optimizers = three_ranks(choice)
    stories, losses = intro.stories_of_ranks(small, tokenizer, ranks=3), []
    for _ in range(steps):
        windows = next(stories).split(1)
        own = [backward(net, ids, factor or 1) for net, ids in zip(nets, windows, strict=True)]
        if factor:
            average([[p.grad for p in net.parameters()] for net in nets])
        for optimizer in optimizers:
            optimizer.step()
        losses.append(sum(own) / 3)
    return losses, nets


# %%
cases = {"right": 1, "3 times too large": 3, "never averaged": 0}
trained = {name: train_three(factor, "Adam") for name, factor in cases.items()}
title = "With Adam, gradients that are 3 times too large do not show in the loss"
show(curves({name: losses for name, (losses, _) in trained.items()}, title))

# %% [markdown]
# All three fall. The first two can hardly be told apart, and the third looks well as long as no
# right one stands beside it. Now look at the weights: how far is rank 0 from rank 1, and how far
# from one device?

# %%
nets_of = {("Adam", name): nets for name, (_, nets) in trained.items()}
nets_of |= {("SGD", name): train_three(factor, "SGD")[1] for name, factor in cases.items()}
print(f"{'':25} from rank 1   from one device")
for (choice, name), nets in nets_of.items():
    first, second = flat(nets[0]), flat(nets[1])
    between, away = (first - second).abs().max(), (first - one_device[choice]).abs().max()
    print(f"{choice:5} {name:20}{between:11.1g}{away:18.1g}")

# %% [markdown]
# Ranks that differ from each other were never averaged, under any optimizer. The factor of 3 needs
# the second number, and there Adam deceives again: even the right program is far from one device,
# because Adam makes a full step of a gradient that is nothing but rounding. With SGD, right and
# wrong are worlds apart.
#
# ## What to remember
#
# - Averaging weights after each step is averaging gradients, if all start alike and the step is
#   linear in the gradient: SGD, with momentum or without. With Adam it is another algorithm.
# - Averaged gradients keep a difference for ever; averaged weights end it.
# - Local steps save messages. They cost loss, because each rank learns alone in between.
# - A printed loss belongs to one rank, one window, and the weights before the step. Compare models
#   on new text. Compare programs by their weights, with SGD: rank with rank, and with one device.
#
# ## Exercises
#
# **1. Task DP-2: average the weights.** Open the file named below, write the body, and run the
# check.

# %%
check("DP-2")

# %% [markdown]
# **2. Task DP-3: partition a data set.** The stories of this lab never end. A real data set does,
# and is read many times. Who reads what, with nothing lost and nothing read twice?

# %%
check("DP-3")

# %%
import partition

for epoch in range(2):
    parts = [list(partition.epoch_order(10, rank, 4, seed=0, epoch=epoch)) for rank in range(4)]
    print(f"epoch {epoch}:", *parts)

# %% [markdown]
# **3.** A model has 1,088,424 weights of 4 bytes. In 1,000 steps, how many megabytes (millions of
# bytes) does a rank give into all-reduces, if they average every 20 steps?

# %%
mine = None
answer(mine, lambda: 1000 / 20 * 1088424 * 4 / 1e6, tolerance=1)

# %% [markdown]
# **4.** FedAvg weighs each rank by how much text it has. Three ranks have 100, 100 and 200 stories,
# and a weight has the values 1, 2 and 4 on them. What is the average?

# %%
mine = None
answer(mine, lambda: (100 * 1 + 100 * 2 + 200 * 4) / 400)
