# %% [markdown]
# # Averaging weights
#
# *Reading 35 minutes · tasks 55 · machine 1*
#
# *With twenty minutes: the derivation, DP-2, and the picture of loss against megabytes.*
#
# In lesson 03 the ranks averaged their gradients after every step. Between the GPUs of one cluster
# that's fine. Between two data centers it isn't: the gradients of a model with 8 billion parameters
# are 16 GB in 2-byte numbers. Around a ring of many ranks each of them sends nearly twice that, and
# over a link of 1 Gbit/s it takes four minutes, for a single step.
#
# The same problem had come up before, with phones whose texts must stay private. **Federated
# learning** lets each phone train on its own text for a while. Then only the weights travel, and
# their mean is the new model for all (FedAvg, McMahan et al. 2017,
# [1602.05629](https://arxiv.org/abs/1602.05629)). Phones average *weights* instead of gradients for
# one reason: weights can be averaged less often.
#
# **Question.** When is the mean of the weights as good as the mean of the gradients, and how rarely
# can you average?

# %%
import copy
import inspect
import sys
from statistics import mean

import torch

from helpers.draw import Point, curves, points
from helpers.draw.drift import drift
from helpers.grade import check
from helpers.lesson import answer, claim, predict, quick, reveal, show, show_diff
from helpers.ranks import find_place, launch

# %%
from simplellm.losses import causalLLMLoss

sys.path[:0] = ["../primer", "../DP/weight_aggr", "../DP/partition"]
import intro
import local_steps
from local_steps import average, weights

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## From gradients to weights
#
# In the script, very little changes. Every rank takes a step with its own gradient, and then the
# ranks average what came out:

# %%
show_diff("DP/gradient_aggr/intro_DP_GA.py", "DP/weight_aggr/intro_DP_WA.py", context=1)

# %% [markdown]
# Is that the same? All $n$ ranks start a step with the same weights $W$, and rank $r$ has its own
# gradient $g_r$. With SGD its weights become $W_r = W - \lambda g_r$, and their mean is
#
# $$\frac{1}{n}\sum_r W_r \;=\; \frac{1}{n}\sum_r (W - \lambda g_r)
# \;=\; W - \lambda \Big( \frac{1}{n}\sum_r g_r \Big).$$
#
# The right side is the step with the averaged gradient. So the two agree, under two conditions that
# the derivation has used: all ranks start from the same $W$, and the step is **linear** in the
# gradient, so that the mean of the steps is the step of the mean.
#
# Two other optimizers you know:
#
# - **SGD with momentum** keeps a running sum of gradients, the buffer: $m_r \leftarrow \mu m_r +
#   g_r$, and then $W_r = W - \lambda m_r$. Each rank has its own buffer, and these aren't
#   averaged.
# - **Adam** divides each entry of the gradient by its typical size over the last steps.

# %%
predict(
    "L04-1",
    "Every rank takes its own step, then all average their weights. With which optimizers is that "
    "the step of the averaged gradients?",
    "only plain SGD",
    "SGD, also with momentum",
    "SGD, momentum and Adam",
)

# %% [markdown]
# To see the arithmetic alone, we let three models in one process play the three ranks, in
# **float64**, whose 16 digits leave a mistake nowhere to hide.

# %%
flags = "--layers 1 --dmodel 24 --heads 2 --seq-l 32".split()
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
print(inspect.getsource(average))


def flat(net):
    return torch.cat([p.detach().flatten() for p in net.parameters()])


# %% [markdown]
# One device takes batches of three sequences, which by lesson 03 *is* the mean of three gradients.
# The three ranks take one sequence each. After every step we ask how far the two are apart,
# relative to how far the weights have moved since initialization.


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
        moved = (flat(one) - start).norm()
        distances.append(((flat(one) - flat(ranks[0])).norm() / moved).item())
    return one, ranks, optimizers, distances


# %%
OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.5),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=6e-3),
}
runs = {name: both_ways(make, quick(20, 3)) for name, make in OPTIMIZERS.items()}
gaps = {name: run[3] for name, run in runs.items()}
claim.below("SGD and momentum: the largest gap", max(gaps["SGD"] + gaps["momentum"]), 1e-11)
claim.below("a tenth of the way, and the gap of Adam after one step", 0.1, gaps["Adam"][0])

# %%
title = "SGD and momentum agree to the last digits; Adam goes another way from the first step"
show(curves(gaps, title, y="gap / distance from the start", log="y"))
reveal("L04-1")

# %% [markdown]
# Why is it enough to leave the momentum buffers alone? Because they are linear in the gradients
# too. The three buffers differ, but their *mean* is the buffer of the one device, and only the mean
# shows in the averaged weights:

# %%
one, ranks, optimizers, _ = runs["momentum"]
alone, *buffers = (
    optimizer.state[net.lm_head.weight]["momentum_buffer"]
    for net, optimizer in zip([one, *ranks], optimizers, strict=True)
)
apart = (buffers[0] - buffers[1]).abs().max().item()
off = (sum(buffers) / 3 - alone).abs().max().item()
claim.below(
    "a thousand times what the mean is off, and what two buffers differ by", 1e3 * off, apart
)

# %% [markdown]
# Adam isn't linear, and its first step shows how badly. There it moves every weight by $\lambda$,
# up or down: dividing the gradient by its own size leaves only the *sign*. With averaged gradients
# there's one sign, so each weight moves by a full $\lambda$. With averaged weights we get the mean
# of three signs, which is $\lambda$ where all ranks agree and $\lambda / 3$ where one is outvoted.

# %%
one, ranks, _, _ = both_ways(OPTIMIZERS["Adam"], steps=1)
for name, net in (("averaged gradients", one), ("averaged weights", ranks[0])):
    moved = (flat(net) - flat(fresh())).abs() / 6e-3
    moved = moved[moved > 0.01]  # without the tokens that no sequence contains
    full, third = ((moved - size).abs() < 0.05 for size in (1, 1 / 3))
    print(f"{name:18}  full step {full.double().mean():4.0%}, a third {third.double().mean():4.0%}")

# %% [markdown]
# So with Adam, averaging weights is a different algorithm, which takes smaller steps where the
# ranks disagree. Whether it's a worse one is a question for an experiment, and we'll get to it.
#
# ## Another start
#
# The other condition was that all ranks start from the same weights. What if you forget to set the
# seed, and every rank starts with a different model?

# %%
predict(
    "L04-2",
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
        for net, ids in zip(ranks, next(stories).split(1), strict=True):
            backward(net, ids)
        if what == "gradients":
            average([[p.grad for p in net.parameters()] for net in ranks])
        for net in ranks:
            torch.optim.SGD(net.parameters(), lr=0.5).step()
        if what == "weights":
            average(weights(ranks))
    return distances


# %%
for what in ("gradients", "weights"):
    first, second, *_, last = from_three_starts(what, quick(20, 4))
    print(f"averaged {what:9}: rank 0 from rank 1 {first:.2f}, {second:.2f} … {last:.2f}")
reveal("L04-2")

# %% [markdown]
# Averaged gradients move all ranks by the same step, so their distance never changes: three
# different models, each fed a mixture of gradients that were computed for the others too. (That's
# why DDP broadcasts the weights of rank 0 before the first step.) Averaging the weights makes them
# one model at the first step.
#
# ## Three real ranks
#
# Now we do the same with processes and messages.
#
# ### Your turn: DP-2 · 15 minutes · 10 points
#
# Write `average_weights()` in `DP/weight_aggr/intro_DP_WA.py`: after it, every rank's model holds
# the mean of the weights of all ranks. It looks like the function you wrote for DP-1, with one trap
# that gradients don't have: the optimizer holds the parameters as objects, and torch watches what
# you write into them.

# %%
check("DP-2")

# %% [markdown]
# Three ranks take 20 steps of SGD with your function, and one device reads the same sequences,
# three in a batch.

# %%
import intro_DP_WA

SMALL = "--layers 2 --seq-l 64 --optimizer sgd --lr 0.1 --steps".split() + [str(quick(20, 4))]


def train_rank():
    options = intro_DP_WA.read_flags(SMALL)
    return flat(intro_DP_WA.train(options, find_place(), "cpu", lambda *_: None)[1])


first, second, _ = launch(train_rank, ranks=3, quiet=True)
alone = intro.read_flags([*SMALL, "--like-ranks", "3"])
one_device = flat(intro.train(alone, say=lambda step, loss: None)[1])
between, away = (first - second).abs().max().item(), (first - one_device).abs().max().item()
claim.same("rank 0 has the weights of rank 1, to the last bit", between == 0)
claim.below("and those of one device, up to", away, 1e-4)

# %% [markdown]
# The ranks agree with each other to the last bit, because each of them has computed the same mean.
# With one device they agree up to rounding: these are ordinary floats of seven digits, and the sums
# were taken in another order.
#
# ## Average less often
#
# Weights take as many bytes as gradients, so averaging them after every step saves nothing. What we
# have gained is a choice: the ranks may take several steps on their own, **local steps**, before
# they average. With SGD this is called **Local SGD** ([Stich
# 2019](https://arxiv.org/abs/1805.09767)), and the number of local steps is usually called $H$.

# %%
show(drift())

# %% [markdown]
# What that saves is easy to calculate. With the latency $\alpha$ of a message and a bandwidth of
# $B$ bytes a second, averaging $S$ bytes around a ring of $n$ ranks takes $2(n-1)\alpha +
# 2\frac{n-1}{n}\frac{S}{B}$ (lesson 03). Spread over $H$ steps, a step takes
#
# $$t = t_{\text{compute}} + \frac{1}{H}\Big(2(n-1)\,\alpha + 2\,\frac{n-1}{n}\,\frac{S}{B}\Big).$$
#
# The four minutes from the top of this page become half a second with $H = 500$. What it does to
# the loss takes an experiment.

# %%
predict(
    "L04-3",
    "The same number of steps on the same sequences, and the ranks average after every 4, 16 or "
    "64 steps. What happens to the loss on new text?",
    "nothing: the same sequences are read",
    "the less often, the higher",
    "the less often, the lower",
)

# %% [markdown]
# One run wouldn't prove anything here, because another seed changes the loss as well. So we take
# three seeds (other initial weights, other stories) and look at the spread. Each run begins like a
# real one with a **warm-up** in which all ranks still train together. From this common start the
# three replicas continue with Adam, again in one process, because only the arithmetic counts here:

# %%
print(inspect.getsource(local_steps.local_training))

# %% [markdown]
# Running all methods with all seeds takes a few minutes, so it was done once, by `python
# DP/weight_aggr/local_steps.py`, which writes its results to a file. You needn't take the file on
# trust: here is one of its runs again, live.

# %% tags=["training"]
STEPS, EVERY = quick(128, 2), (4, 16, 64)
recorded, start = local_steps.recorded(), local_steps.warmed_up(0, quick(96, 2))
again = local_steps.local_training(start, 0, every=quick(64, 2), steps=STEPS)
before = recorded["weights, every 64 steps"][0]
claim("loss of every 64 steps, recorded as", again, before, within=0.03)

# %%
local = {n: recorded[f"weights, every {n} steps"] for n in EVERY}
for name, losses in recorded.items():
    if "DiLoCo" not in name:
        each = ", ".join(f"{loss:.3f}" for loss in losses)
        print(f"{name:24} mean loss {mean(losses):.3f} (the seeds: {each})")
after_each = {of: mean(recorded[f"{of}, every step"]) for of in ("gradients", "weights")}
claim.below("with Adam: averaging gradients, averaging weights", *after_each.values())
costs = [after_64 - after_4 for after_4, after_64 in zip(local[4], local[64], strict=True)]
print("averaging after 64 steps in place of 4:", ", ".join(f"{cost:+.3f}" for cost in costs))
claim.below("0, and the smallest cost of the three seeds", 0, min(costs))
reveal("L04-3", cost=mean(costs))

# %% [markdown]
# While the ranks are on their own, each learns from its own sequences only, and they drift apart.
# The first two rows answer the question from above as well: with Adam, averaged weights after every
# step and averaged gradients are two algorithms, and they don't reach the same loss. Then look at
# the spread: two seeds of one row lie further apart than the rows for 4 and 64 steps, so a single
# run of each would have proved nothing. What saves the conclusion is that we can compare seed by
# seed, because the seed decides the start and the stories for all rows alike, and there the order
# is always the same.
#
# ## DiLoCo: a second optimizer outside
#
# Look at the drawing again. When three ranks come back from $H$ steps, the arrow from the common
# start to their mean says where they agree to go. **DiLoCo**
# ([2311.08105](https://arxiv.org/abs/2311.08105)) takes this arrow seriously. Its negative is
# treated as a gradient,
#
# $$\Delta = W_{\text{start}} - \frac{1}{n}\sum_r W_r,$$
#
# and given to a second optimizer, the **outer** one. That's SGD with Nesterov's momentum: $v
# \leftarrow \mu v + \Delta$, and then $W_{\text{start}} \leftarrow W_{\text{start}} - \eta\,(\Delta
# + \mu v)$. With $\eta = 1$ and $\mu = 0$ it lands on the mean, which is Local SGD. By hand it's
# ten lines:


# %%
def nesterov(net, rate=0.7, momentum=0.6):
    start = [p.detach().clone() for p in net.parameters()]
    velocity = [torch.zeros_like(p) for p in start]

    @torch.no_grad()
    def step():
        for new, old, v in zip(net.parameters(), start, velocity, strict=True):
            delta = old - new  # new: the mean over the ranks
            v.mul_(momentum).add_(delta)
            old.sub_(rate * (delta + momentum * v))
            new.copy_(old)

    return step


# %% [markdown]
# Is that what torch calls Nesterov? Compare three outer steps of both, from random "means":

# %%
ours, theirs = torch.nn.Linear(5, 4), torch.nn.Linear(5, 4)
theirs.load_state_dict(ours.state_dict())
outer = torch.optim.SGD(theirs.parameters(), lr=0.7, momentum=0.6, nesterov=True)
step = nesterov(ours)
for _ in range(3):
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        change = torch.randn_like(p)
        q.grad = -change  # old - mean
        with torch.no_grad():
            p.add_(change)
    step()
    outer.step()
far = max((p - q).abs().max() for p, q in zip(ours.parameters(), theirs.parameters(), strict=True))
claim.below("largest difference from torch.optim.SGD(nesterov=True)", far.item(), 1e-5)

# %%
predict(
    "L04-4",
    "The same three seeds, the same local steps, the same bytes, and now an outer step after each "
    "averaging over 16 steps. What does it do to the mean loss of these short runs?",
    "it falls clearly, by more than the distance between two seeds",
    "it changes by less than the distance between two seeds",
    "it rises clearly, by more than the distance between two seeds",
)

# %% [markdown]
# The paper uses $\eta = 0.7$ and $\mu = 0.9$ with $H = 500$ and tens of thousands of local steps.
# Momentum of 0.9 is a memory of ten outer steps, and our runs have only eight in all, so we take
# $\mu = 0.6$.

# %% tags=["training"]
by_hand = local_steps.local_training(start, 0, quick(16, 2), nesterov, STEPS)
before = recorded["DiLoCo, every 16 steps"][0]
claim("loss with our ten lines, recorded as", by_hand, before, within=0.03)

# %%
diloco = {n: recorded[f"DiLoCo, every {n} steps"] for n in EVERY[1:]}
for n, losses in diloco.items():
    print(f"every {n}: Local SGD {mean(local[n]):.3f}, DiLoCo {mean(losses):.3f}")
gain, distance = mean(local[16]) - mean(diloco[16]), max(local[16]) - min(local[16])
each = [new - old for new, old in zip(diloco[16], local[16], strict=True)]
print("after every 16 steps, seed by seed:", ", ".join(f"{change:+.3f}" for change in each))
claim.below("the largest change of the three, and 0", max(each), 0)
reveal("L04-4", gain=gain, distance=distance)

# %% [markdown]
# The picture to judge such methods by is loss against bytes sent. The bars reach over the three
# seeds, and the megabytes are those that a rank really sends: an all-reduce around a ring of three
# moves $2 \cdot 2/3$ times the bytes of the weights.

# %%
size = 4 / 3 * 4 * flat(start[0]).numel() / 1e6
found = {}
for name, losses in recorded.items():
    every = next((n for n in EVERY if f" {n} " in name), 1)
    kind = "DiLoCo" if "DiLoCo" in name else "gradients" if "gradients" in name else "Local SGD"
    label = name.removesuffix(" steps") if kind == "DiLoCo" or every == 1 else f"every {every}"
    found[label] = Point(size * 128 / every, losses, kind)
everything = mean(recorded["weights, every step"])
changes = [f"{name} {mean(way[16]) - everything:+.2f} nats"
           for name, way in (("Local SGD", local), ("DiLoCo", diloco))]  # fmt: skip
title = f"With a sixteenth of the bytes: {', '.join(changes)}"
show(points(found, title, x="MB that a rank sends", y="held-out loss (nats per token)"))

# %% [markdown]
# So DiLoCo learned more per step than averaging the weights after every single one, with a
# sixteenth of the bytes (averaging the *gradients* every step is still ahead of both). Some
# warnings before you draw conclusions. The outer momentum has only eight steps to build up here,
# and in the paper well over a hundred. The settings of an outer optimizer are worth little outside
# the place they were tuned for: try $\mu = 0.9$ here. All methods had the same inner learning rate,
# and a larger one would have helped some of them more than others; a fair comparison tunes each
# method for itself. And the axis counts bytes, not seconds: on a fast network bytes hardly matter,
# and the lowest point wins.
#
# How many megabytes would that be for the model of the other lessons, with its 547,648 parameters
# of 4 bytes each? **In 1,000 steps, four ranks average their weights every 20 steps, around a ring.
# How many megabytes (millions of bytes) does a rank send?**

# %%
mine = None
answer("L04-5", mine)

# %% [markdown]
# ## Five minutes on a slow link
#
# Now it's your turn to find something better. `DP/weight_aggr/slow_link.py` has three replicas and
# a simulated clock: forward and backward take one second, and an all-reduce takes what its bytes
# need at 1 Mbit/s. After five minutes the method is stopped, and what counts is the loss on new
# stories. Here is the baseline, ordinary data parallelism, and then Local SGD:

# %%
from slow_link import score

MINUTES = quick(300, 10)


def gradients_every_step(group):
    while True:
        group.compute()
        group.all_reduce(group.gradients())
        group.update()


def local_sgd(group, every=16):
    while True:
        group.compute()
        group.update()
        if group.computed % every == 0:
            group.all_reduce(group.weights())


# %% tags=["training"]
for method in (gradients_every_step, local_sgd):
    print(f"{method.__name__:20}", score(method, budget=MINUTES))

# %% [markdown]
# ### Your turn: DP-8 · 20 minutes · 15 points
#
# Write `my_method()` in `DP/weight_aggr/my_method.py`: anything that reaches a lower loss. More
# local steps or fewer, an outer optimizer, fewer bytes for each number (`group.all_reduce` charges
# float16 half of float32), only some of the layers at a time, another learning rate for
# `group.optimizers`, or one that changes as the time runs out. The check takes one of three seeds,
# and its score is how far you are below `local_sgd` with the same one: 0.04 nats pass, and the
# largest margin in the class wins.

# %% tags=["training"]
check("DP-8")

# %% [markdown]
# ## Whose text is it?
#
# Phones don't choose which texts they hold. In a cluster we do, and so we have to say who reads
# what, with nothing lost and nothing read twice. Until now the stories were endless, and rank $r$
# of $n$ took every $n$-th. A real data set ends, is read in several epochs, and seldom has a length
# that $n$ divides.
#
# ### Your turn: DP-3 · 20 minutes · 10 points
#
# Write `partition()` and `epoch_order()` in `DP/partition/partition.py`: which items a rank reads,
# and in which order in each epoch. All ranks have to come to the same shuffle without sending a
# message.

# %%
check("DP-3")

# %%
import partition

for epoch in range(2):
    parts = [list(partition.epoch_order(10, rank, 4, seed=0, epoch=epoch)) for rank in range(4)]
    print(f"epoch {epoch}:", *parts)

# %% [markdown]
# Ten items on four ranks can't be even, so the mean over the ranks isn't the mean over the items
# any more: an item of a rank with two counts for more than one of a rank with three. FedAvg weights
# rank $k$ by its share of the items,
#
# $$W = \sum_k \frac{n_k}{n}\, W_k,$$
#
# and the same holds for gradients. Here is one step's gradient over your partition, both ways:

# %%
stream = intro.stories_of_ranks(options, tokenizer, ranks=3)
ids, net = torch.cat([next(stream) for _ in range(4)])[:10], fresh()


def gradient(rows):
    backward(net, rows)
    return torch.cat([p.grad.flatten() for p in net.parameters()])


whole = gradient(ids)
shares = [ids[list(partition.partition(10, rank, 4))] for rank in range(4)]
plain = sum(gradient(rows) for rows in shares) / 4
weighted = sum(len(rows) / 10 * gradient(rows) for rows in shares)
off = {"weighted": weighted, "plain": plain}
off = {name: (mean - whole).abs().max().item() for name, mean in off.items()}
claim.below("weighted by their items: so far from the gradient of all ten", off["weighted"], 1e-12)
claim.below("1e-6, and how far the plain mean is", 1e-6, off["plain"])

# %% [markdown]
# **A federated round.** Three phones have 100, 100 and 200 stories, and one of their weights has
# the values 1, 2 and 4 after the local steps. What does FedAvg make of it?

# %%
mine = None
answer("L04-6", mine)

# %% [markdown]
# ## How a loss curve can lie
#
# All of these runs print losses, and it's tempting to judge them by what they print. There are
# three reasons not to.
#
# **First, a printed loss belongs to one rank, one sequence, and the weights before the step.**
# Ranks that hold the same model print different losses, because they read different text. Compare
# models on text that neither has read.
#
# **Second, the ranks print losses of models that you won't use.** You'll use their mean. Three
# models start alike; one trio averages every 16 steps, the other never does. Every 16 steps, just
# before any averaging, we judge the three models as they are, and the model that their mean would
# be.

# %%
predict(
    "L04-7",
    "How good is the mean of three models, on new text, compared with the three models?",
    "always as good as their average",
    "always better than their average",
    "better while they are near each other, worse when they are far apart",
)


# %%
TRIO = "--layers 2 --seq-l 64".split()
held_out = start[2]


@torch.no_grad()
def judge(net):
    return causalLLMLoss(net(held_out), held_out, tokenizer.vocab_size).item()


# %%
def three_ranks(choice="Adam"):
    torch.manual_seed(0)
    nets = [intro.make_model(intro.read_flags(TRIO), tokenizer)]
    nets += [copy.deepcopy(nets[0]) for _ in range(2)]
    kinds = {"Adam": (torch.optim.Adam, 4e-3), "SGD": (torch.optim.SGD, 0.3)}
    kind, rate = kinds[choice]
    return nets, [kind(net.parameters(), lr=rate) for net in nets]


def stories_of_three():
    return intro.stories_of_ranks(intro.read_flags(TRIO), tokenizer, ranks=3)


def loss_of_the_mean(nets):
    copies = copy.deepcopy(nets)
    average(weights(copies))
    return judge(copies[0])


# %%
def follow(every, steps):
    nets, optimizers = three_ranks()
    stories = stories_of_three()
    found = {"mean of the three losses": {}, "loss of the mean model": {}}
    for step in range(1, steps + 1):
        for net, optimizer, ids in zip(nets, optimizers, next(stories).split(1), strict=True):
            backward(net, ids)
            optimizer.step()
        if step % 16 == 0:
            found["mean of the three losses"][step] = sum(map(judge, nets)) / 3
            found["loss of the mean model"][step] = loss_of_the_mean(nets)
        if every and step % every == 0:
            average(weights(nets))
    return found


# %% tags=["training"]
ends = {}
for name, every in (("Averaged every 16 steps", 16), ("Never averaged", 0)):
    found = follow(every, quick(96, 16))
    models, middle = (list(losses.values())[-1] for losses in found.values())
    better = "the mean model is better" if middle < models else "the mean model is worse"
    ends[name] = middle - models
    show(curves(found, f"{name}: at the end {better}", y="held-out loss (nats per token)"))
reveal("L04-7", worse=ends["Never averaged"])

# %% [markdown]
# While the models are near each other, their mean is better than they are, because whatever each of
# them has picked up by accident from its own sequences cancels out. Once they have drifted too far
# apart, averaging hurts. What the ranks print shows neither, so judge the model that you're going
# to use: average first, then take the loss on new text.

# %% [markdown]
# **Third, a wrong program can have a good-looking curve.** Here are two mistakes, both with Adam.
# One program forgets to divide, so its gradients are three times too large. The other computes the
# mean and never writes it into the model (`p = mean` names a tensor and changes no weight), so its
# three models never meet.


# %%
def train_three(factor, choice, steps):
    nets, optimizers = three_ranks(choice)
    stories, losses = stories_of_three(), []
    for _ in range(steps):
        batch = next(stories).split(1)
        own = [backward(net, ids, factor or 1) for net, ids in zip(nets, batch, strict=True)]
        if factor:
            average([[p.grad for p in net.parameters()] for net in nets])
        for optimizer in optimizers:
            optimizer.step()
        losses.append(sum(own) / 3)
    return losses, nets


# %% tags=["training"]
CASES = {"right": 1, "3 times too large": 3, "never averaged": 0}
trained = {
    (choice, name): train_three(factor, choice, quick(24, 2))
    for choice in ("Adam", "SGD")
    for name, factor in CASES.items()
}
title = "With Adam, gradients that are 3 times too large don't show in the loss"
show(curves({name: trained["Adam", name][0] for name in CASES}, title))

# %% [markdown]
# All three fall, the first two can hardly be told apart, and the third looks fine until a right one
# stands beside it. So compare weights instead: rank 0 with rank 1, and with the right program.

# %% tags=["training"]
print(f"{'':25} from rank 1   from the right program")
for (choice, name), (_, nets) in trained.items():
    right = flat(trained[choice, "right"][1][0])
    between = (flat(nets[0]) - flat(nets[1])).abs().max()
    away = (flat(nets[0]) - right).abs().max()
    print(f"{choice:5} {name:20}{between:11.1g}{away:18.1g}")

# %% [markdown]
# Ranks that differ from each other were never averaged, whatever the optimizer. The factor of 3
# needs the second column, and there SGD is the better witness: under Adam the wrong program ends
# near the right one, under SGD the difference is unmistakable.
#
# ## What to remember
#
# - Averaging weights after each step is averaging gradients, if all start alike and the step is
#   linear in the gradient: SGD, with or without momentum. With Adam it's another algorithm.
# - Averaged gradients never remove an initial difference; averaged weights do at once.
# - Local steps save messages and cost loss, because the ranks drift apart. DiLoCo treats the
#   averaged change as a gradient for an outer optimizer with momentum.
# - Uneven parts need a weighted mean, by items or tokens.
# - One run is an anecdote. Judge by several seeds, on new text; compare programs by their weights,
#   with SGD.
#
# ## In the wild
#
# - **FedAvg** needed 10 to 100 times fewer rounds of communication than synchronized SGD
#   ([1602.05629](https://arxiv.org/abs/1602.05629), abstract).
# - **DiLoCo** with 8 workers did as well as fully synchronous training on C4 while communicating
#   500 times less ([2311.08105](https://arxiv.org/abs/2311.08105), abstract): AdamW inside with $H
#   = 500$, Nesterov outside with $\eta = 0.7$ and $\mu = 0.9$.
# - **INTELLECT-1**, 10 billion parameters and 1 trillion tokens, was trained with DiLoCo on up to
#   14 nodes on three continents. With $H = 100$ and an all-reduce in 8-bit integers it moved 400
#   times less than ordinary data parallelism, at 83 to 96 % compute utilization
#   ([2412.01152](https://arxiv.org/abs/2412.01152)).
#
# To read: `LocalSGD` and `DiLoCo` in `torchft/local_sgd.py` of
# [torchft](https://github.com/pytorch/torchft). Find the place where the difference of two sets of
# weights becomes a `.grad`. Which of our ten lines are there, and which does `torch.optim.SGD` do?
#
# ## Where next
#
# Data parallelism needs room for the whole model on every rank. [Lesson
# 05](05_naive_pipeline.ipynb) cuts the model itself.
