# %% [markdown]
# # Averaging weights
#
# *Reading 40 minutes, tasks 55 (homework 20)*
#
# *With twenty minutes: the derivation, DP-2, and the picture of loss against learning rate.*
#
# In lesson 03 the ranks averaged their gradients after every step. Between the GPUs of one cluster
# that's fine. Between two data centers it isn't: the gradients of a model with 8 billion parameters
# are 16 GB in 2-byte numbers. In a ring all-reduce over many ranks, each rank sends nearly twice
# that, and on a link of 1 Gbit/s this takes four minutes, for a single step.
#
# The same problem had come up before, with phones whose texts must stay private. **Federated
# learning** lets each phone train on its own text for a while. Then only the weights travel, and
# their mean, weighted by how much text each phone has, is the new model for all (FedAvg, McMahan et
# al. 2017, [1602.05629](https://arxiv.org/abs/1602.05629)).
#
# **Question.** When is the mean of the weights as good as the mean of the gradients, and how rarely
# can you average?

# %%
import sys
from statistics import mean

import torch

from helpers.check import check, solve
from helpers.draw import curves
from helpers.lesson import predict, reveal, show, show_code, show_diff
from helpers.ranks import find_place, launch
from simplellm.losses import causalLLMLoss

sys.path[:0] = ["../primer", "../DP/weight_aggr"]
import intro
import local_steps
from local_steps import average, weights

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## From gradients to weights
#
# In the script, very little changes. Every rank takes a step with its own gradient, and then the
# ranks average what came out:

# %% jupyter={"source_hidden": true}
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
#   g_r$, and then $W_r = W - \lambda m_r$. Each rank has its own buffer, and these aren't averaged.
# - **Adam** divides each entry of the gradient by its typical size over the last steps.
#
# **Guess before you read on.** Averaged weights, the step of averaged gradients: SGD, yes. SGD with
# momentum, yes or no? And Adam?
#
# To see the arithmetic alone, we let three models in one process play the three ranks, in
# **float64**, whose 16 digits leave a mistake nowhere to hide. One device takes batches of three
# sequences, and the three ranks take one sequence each. After every step we ask how far the two are
# apart, relative to how far the weights have moved since initialization.

# %%
flags = "--layers 1 --dmodel 24 --heads 2 --seq-l 32".split()
options = intro.read_flags(flags)
tokenizer = intro.make_tokenizer(options)


# %%
def fresh(seed=0):
    torch.manual_seed(seed)
    return intro.make_model(options, tokenizer).double()


def backward(net, ids):
    net.zero_grad()
    causalLLMLoss(net(ids), ids, tokenizer.vocab_size).backward()


def flat(net):
    return torch.cat([p.detach().flatten() for p in net.parameters()])


# %% jupyter={"source_hidden": true}
show_code("DP/weight_aggr/local_steps.py", "average")


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
    return distances


# %%
OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.5),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=6e-3),
}
gaps = {name: both_ways(make, quick(20, 3)) for name, make in OPTIMIZERS.items()}

# %% jupyter={"source_hidden": true}
largest = max(gaps["SGD"] + gaps["momentum"])
print(f"largest gap with SGD and momentum: {largest:.1e} of the distance; "
      f"with Adam after one step: {gaps['Adam'][0]:.2f}")  # fmt: skip
assert largest < 1e-11 < 0.1 < gaps["Adam"][0]

# %% jupyter={"source_hidden": true}
title = "SGD and momentum agree up to rounding; Adam ends elsewhere from the first step"
show(curves(gaps, title, y="gap / distance from the start", log="y"))

# %% [markdown]
# So momentum: yes. The buffers of the ranks differ, and nobody averages them, but only their mean
# reaches the averaged weights, and it's the buffer that one device would have. And Adam: no.
#
# ## Adam's averaged steps are short
#
# Adam isn't linear. It divides each entry by its typical size, and that size is where the two ways
# part. Say the gradient of a rank is $g_r = G + \varepsilon_r$: what all ranks agree on, and the
# noise of its own sequence, of size $\sigma$. With one sequence the noise is by far the larger
# part.
#
# - **Averaged gradients.** The noise of the mean is $\sigma/\sqrt n$, so Adam divides by about
#   that.
# - **Averaged weights.** Each rank divides its own gradient by its own noise, $\sigma$, and then
#   the $n$ steps are averaged.
#
# The numerators agree: both come to the mean of the gradients. The denominators don't: averaged
# weights should take steps of $1/\sqrt 3 = 0.58$ times the length.
#
# We measure it in a small LLaMA that has been trained for 96 steps. After each step we ask how far
# averaging the weights moved a matrix, and how far Adam would have moved it from the same place
# with the mean of the same three gradients:

# %%
start = local_steps.warmed_up(0, quick(96, 2))
lengths = local_steps.step_lengths(start, seed=0, steps=quick(48, 2))
short = {name: sum(by_weights) / sum(by_gradients)
         for name, (by_weights, by_gradients) in lengths.items()}  # fmt: skip
matrices = mean(ratio for name, ratio in short.items() if "proj" in name)

# %%
head, embedding = short["lm_head.weight"], short["model.embed_tokens.weight"]
print(f"a step of averaged weights over one of averaged gradients: {matrices:.2f} in the matrices,")
print(f"{embedding:.2f} in the embedding, {head:.2f} in the head; 1 / sqrt(3) is {3**-0.5:.2f}")
assert abs(matrices - 3**-0.5) < quick(0.08, 1)

# %% [markdown]
# So with Adam, averaging weights is a different algorithm. In the matrices inside the blocks its
# steps are shorter by about $\sqrt n$, and a larger learning rate makes up for that. But not
# everywhere. A row of the embedding whose token only one rank has read is moved by that rank alone,
# and divided by three: 1/3 for such rows, 0.58 for those that all have read, 0.49 for the mix. The
# head hardly loses any: most of its rows get the same push from all ranks, "less of this token",
# and where there's no noise the ratio is 1. No single rate makes up for all of them.
#
# If you compare the two methods at *one* learning rate, at least one of them gets a rate that
# doesn't suit it: what's right for averaged gradients is too small for averaged weights.
#
# ## Different starts
#
# The other condition was that all ranks start alike. If you forget to set the seed, averaging
# gradients doesn't repair it: all ranks take the same step, from different places, and stay as far
# apart as they were. Averaged weights are one model after the first average, though a poor start:
# the mean of three independent random weights is only $1/\sqrt 3$ as large.
#
# ## Three real ranks
#
# ### Your turn: DP-2 · 15 minutes · 10 points
#
# Write `average_weights()` in `DP/weight_aggr/intro_DP_WA.py`: after it, every rank's model holds
# the mean of the weights of all ranks. It looks like the function you wrote for DP-1, with two
# traps that gradients don't have: the optimizer holds the parameters as objects, so you have to
# write into them, and autograd objects if you do that outside `torch.no_grad()`.

# %%
check("DP-2")

# %% [markdown]
# Three ranks take 20 steps of SGD with your function, and one device reads the same sequences,
# three in a batch.

# %%
import intro_DP_WA

SMALL = "--layers 2 --seq-l 64 --optimizer sgd --lr 0.1 --steps".split() + [quick("20", "4")]


def train_rank():
    options = intro_DP_WA.read_flags(SMALL)
    return flat(intro_DP_WA.train(options, find_place(), "cpu", lambda *_: None)[1])


first, second, _ = launch(train_rank, ranks=3, quiet=True)
alone = intro.read_flags([*SMALL, "--like-ranks", "3"])
one_device = flat(intro.train(alone, say=lambda step, loss: None)[1])
between, away = (first - second).abs().max().item(), (first - one_device).abs().max().item()

# %% jupyter={"source_hidden": true}
print(f"largest difference between the weights of rank 0 and rank 1: {between}")
assert between == 0
print(f"largest difference from one device's weights: {away:.1e}")
assert away < 1e-4

# %% [markdown]
# ## Average less often
#
# Averaging weights after every step saves no bytes. What we have gained is a choice: the ranks may
# take several steps on their own, **local steps**, before they average. With SGD this is called
# **Local SGD** ([Stich 2019](https://arxiv.org/abs/1805.09767)), and the number of local steps is
# usually called $H$.
#
# ![Each of three ranks takes four steps alone from one common point, and then they meet. Left,
# Local SGD: the next round starts at the mean of the three places. Right, DiLoCo: the arrow from
# the common point to the mean is the outer gradient with its sign turned, and momentum carries the
# next start beyond the mean.](../imgs/drift.svg)
#
# What that saves is easy to calculate. Averaging $S$ bytes around a ring of $n$ ranks takes
# $2(n-1)\alpha + 2\frac{n-1}{n}\frac{S}{B}$ (lesson 03). Spread over $H$ steps, a step takes
#
# $$t = t_{\text{compute}} + \frac{1}{H}\Big(2(n-1)\,\alpha + 2\,\frac{n-1}{n}\,\frac{S}{B}\Big).$$
#
# The four minutes from the top of this page become half a second a step with $H = 500$, on average.
#
# The model of the other lessons has 547,648 parameters of 4 bytes. If four ranks average around a
# ring every 20 steps, each sends 50 · 2 · 3/4 · 2.19 MB = 164 MB in 1,000 steps, in place of 3.3
# GB.
#
# What it costs in loss only an experiment can tell. The same goes for the best-known remedy.
#
# ## DiLoCo: a second optimizer outside
#
# When three ranks come back from $H$ steps, the arrow from the common start to their mean says
# where they agree to go. **DiLoCo** ([2311.08105](https://arxiv.org/abs/2311.08105)) takes this
# arrow seriously. Its negative is treated as a gradient,
#
# $$\Delta = W_{\text{start}} - \frac{1}{n}\sum_r W_r,$$
#
# and given to a second optimizer, the **outer** one. That's SGD with Nesterov's momentum: $v
# \leftarrow \mu v + \Delta$, and then $W_{\text{start}} \leftarrow W_{\text{start}} - \eta\,(\Delta
# + \mu v)$. With $\eta = 1$ and $\mu = 0$ it lands on the mean, which is Local SGD. The inner
# optimizer, Adam here and AdamW in the paper, isn't touched: each replica keeps its own two moments
# across the average, and they never travel. Its price is memory, 8 bytes a parameter in 32-bit
# numbers for $W_{\text{start}}$ and $v$. By hand it's short:


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
# The paper uses $\eta = 0.7$ and $\mu = 0.9$ with $H = 500$ and tens of thousands of local steps.
# Momentum of 0.9 is a memory of ten outer steps, and with $H = 16$ our runs of 256 steps have only
# sixteen in all (and four with $H = 64$), so we take $\mu = 0.6$, and haven't tuned it.
#
# ## Every method at its own learning rate
#
# Three replicas, Adam inside, the same stories and the same number of steps for all. Each run
# begins with a **warm-up**: one device takes 96 steps with one sequence each. From this common
# start the replicas go on, each with a fresh Adam, and again in one process:

# %% jupyter={"source_hidden": true}
show_code("DP/weight_aggr/local_steps.py", "local_training")

# %% [markdown]
# `python DP/weight_aggr/local_steps.py` ran every method at six learning rates, with three seeds
# each (different initial weights and stories), and wrote the losses on new text to a file. Here is
# one of its runs again, live, with *our* Nesterov where the script takes torch's own:

# %% tags=["training"]
recorded = local_steps.recorded()
again = local_steps.local_training(start, 0, 16, nesterov, quick(256, 16), rate=4e-3)
before = recorded["DiLoCo, every 16 steps"][4e-3][0]
print(f"DiLoCo, every 16 steps, at 0.004: recorded {before:.3f}, now {[*again.values()][-1]:.3f}")
assert abs([*again.values()][-1] - before) < quick(0.06, 9)

# %% [markdown]
# Suppose the script had known only one learning rate, 0.002. This is what it would have found:

# %%
RATE = 2e-3
for name, row in recorded.items():
    each = ", ".join(f"{loss:.3f}" for loss in row[RATE])
    print(f"{name:24} mean loss {mean(row[RATE]):.3f} (the seeds: {each})")
gains = [new - old for new, old in zip(recorded["DiLoCo, every 16 steps"][RATE],
         recorded["weights, every step"][RATE], strict=True)]  # fmt: skip

# %% [markdown]
# What a headline: DiLoCo, averaging every 16 steps, learns *more* than averaging the weights after
# every single one, with a sixteenth of the bytes, and with each of the three seeds. Would you
# publish it?

# %% jupyter={"source_hidden": true}
print("DiLoCo minus weights every step, seed by seed:", *(f"{gain:+.3f}" for gain in gains))

# %% jupyter={"source_hidden": true}
predict(
    "data_parallel_weights-4",
    "Now each method may choose its own learning rate. What becomes of DiLoCo's lead over "
    "averaging the weights after every step?",
    "it grows: DiLoCo has two optimizers to tune",
    "it stays about as large",
    "it's gone: averaging after every step is ahead",
)

# %%
curve = {name: {rate: mean(row[rate]) for rate in row} for name, row in recorded.items()}
best = {name: local_steps.best(row) for name, row in recorded.items()}
tuned = {name: recorded[name][best[name]] for name in recorded}
fair = mean(tuned["DiLoCo, every 16 steps"]) - mean(tuned["weights, every step"])

# %% jupyter={"source_hidden": true}
title = "Each method has its own best learning rate, and at 0.002 averaged weights are far from it"
show(curves(curve, title, x="learning rate", y="loss on new text (nats per token)", log="x"))

# %%
for name, losses in sorted(tuned.items(), key=lambda row: mean(row[1])):
    each = ", ".join(f"{loss:.3f}" for loss in losses)
    print(f"{name:24} at {best[name]:<6g} mean loss {mean(losses):.3f} (the seeds: {each})")
pairs = [new - old for new, old in zip(tuned["DiLoCo, every 16 steps"],
         tuned["weights, every step"], strict=True)]  # fmt: skip
print("DiLoCo minus weights every step, each at its best:", *(f"{gap:+.3f}" for gap in pairs))
longer = [a - b for a, b in zip(recorded["weights, every step"][3e-3],
          recorded["DiLoCo, every 16 steps"][2e-3], strict=True)]  # fmt: skip
print("weights at 0.003 minus DiLoCo at 0.002:", *(f"{gap:+.3f}" for gap in longer))
reveal("data_parallel_weights-4", fair=fair)

# %% [markdown]
# The headline was an artifact: at 0.002 averaged weights, whose steps are short, were still far
# from their best rate. From there to that rate they gain 0.59 nats, averaged gradients 0.35.
#
# The best rate of averaged weights lies to the right of that of averaged gradients (0.008 against
# 0.006, one step of the grid: $\sqrt 3$ is possible, not proven). DiLoCo's lies to the left of
# plain averaging's with as many local steps (0.004 against 0.006), as one expects if outer momentum
# makes steps *longer*: in the long run, a change that keeps its direction is multiplied by
# $\eta/(1-\mu) = 0.7/0.4 = 1.75$. A rate 1.5 times as large for plain averaging is enough to turn
# the headline around: after every step at 0.003, it's ahead of DiLoCo at 0.002 with every seed.
#
# What is left when each has its own rate? Averaging less often costs loss, as the ranks drift
# apart, and DiLoCo recovers part of it. **Guess again:** two seeds of one method differ by up to
# 0.39 nats. Can three seeds show that DiLoCo is better by a fifth of that?

# %%
for n in (16, 64):
    new, old = tuned[f"DiLoCo, every {n} steps"], tuned[f"weights, every {n} steps"]
    by_seed = [a - b for a, b in zip(new, old, strict=True)]
    told = ", ".join(f"{change:+.3f}" for change in by_seed)
    print(f"every {n} steps, DiLoCo minus plain averaging, seed by seed: {told}")
print(f"two seeds of plain averaging every 64 steps differ by up to {max(old) - min(old):.2f}")

# %% [markdown]
# They can: the yardstick is the *paired* difference. A seed decides the start and the stories for
# both alike, and each of the three has DiLoCo ahead (at rates chosen on the text that judges them).
#
# ## When does it pay?
#
# Judge such methods by loss against bytes. Each method is at its own best rate, compared seed by
# seed with averaged gradients. The bars span the three differences (DiLoCo's a bit to the left),
# the megabytes are what each rank sends in a ring of three, and DiLoCo's curve ends at 16 steps.

# %%
size = 4 / 3 * 4 * flat(start[0]).numel() / 1e6
means, bars = {}, []
for name, losses in tuned.items():
    kind, often = name.split(", ")
    sent = size * 256 / next((n for n in (16, 64) if f" {n} " in name), 1)
    above = [a - b for a, b in zip(losses, tuned["gradients, every step"], strict=True)]
    means.setdefault(kind, {})[sent] = mean(above)
    bars.append((kind, often, sent * (0.96 if kind == "DiLoCo" else 1), above))
cost = mean(tuned["DiLoCo, every 16 steps"]) - mean(tuned["gradients, every step"])

# %% jupyter={"source_hidden": true}
title = f"DiLoCo every 16 steps: a sixteenth of the bytes, {cost:.2f} nats above averaged gradients"
ax = curves(means, title, x="MB that a rank sends", y="nats above averaged gradients", log="x")
colors = {kind: line.get_color() for kind, line in zip(means, ax.lines, strict=True)}
for kind, often, sent, above in bars:
    ax.vlines(sent, min(above), max(above), colors[kind])
    if kind == "weights":
        ax.annotate(often, (1.05 * sent, max(above)), color=colors[kind], fontsize=8)
show(ax)

# %% [markdown]
# Against ordinary data parallelism, every one of these methods *loses* per step. Averaging Adam's
# weights after every step buys nothing in return. Those that average less often win time per step,
# and time is what you pay for. So ask how many steps averaged gradients need to reach the loss that
# DiLoCo has after 256:

# %% tags=["training"]
LEFT, SEED = quick(256, 24), 0
rate, start = best["gradients, every step"], local_steps.warmed_up(SEED, quick(96, 2))
losses = local_steps.local_training(start, SEED, None, steps=LEFT, rate=rate, judged=8)
goal = tuned["DiLoCo, every 16 steps"][SEED]
needed = next((step for step, loss in losses.items() if loss <= goal), LEFT)
ratio = (256 - needed) / (needed - 256 / 16)
print(f"averaged gradients reach {goal:.3f} after {needed} steps in place of 256")
print(f"DiLoCo is faster if an average takes more than {ratio:.2f} of a step's computing")

# %% [markdown]
# With $c$ seconds of computing in a step and $a$ seconds for an average, DiLoCo takes $256\,(c +
# a/16)$ seconds and ordinary data parallelism $k\,(c + a)$, if it needs $k$ steps. So DiLoCo is
# ahead if
#
# $$\frac{a}{c} \;>\; \frac{256 - k}{k - 16}.$$
#
# That was one seed, and we looked only every 8 steps, so $k$ may be up to 7 smaller and the ratio
# some 0.06 larger. Other seeds, and the same seed on another machine, gave ratios from 0.36 to
# 0.50: take it as about half a step.
#
# Inside a cluster, most of $a$ hides behind the backward (lesson 11), what is left is a few percent
# of $c$, and averaging gradients wins. Between data centers $a$ is many times $c$: the four minutes
# from the top of this page against half a second, if 1,024 H100s share 4 million tokens. Then the
# hundreds of steps between two averages are the point, and even with $H = 500$ the link takes as
# long as the computing. And the average itself can hide: Streaming DiLoCo sends it while the next
# local steps compute ([2501.18512](https://arxiv.org/abs/2501.18512)).
#
# And a caution. Our runs are short: at most 16 outer steps, where the paper has 128. What carries
# over is the way of comparing, not the numbers.
#
# ## Five minutes on a slow link
#
# Now find something better. `DP/weight_aggr/slow_link.py` has three replicas and a simulated clock:
# forward and backward together take one second, and an all-reduce takes as long as its bytes need
# at 1 Mbit/s, plus four latencies of 0.1 s. For the whole model that's 6.9 s, so $a/c$ is far above
# that ratio. After five minutes the method is stopped, and the loss on new stories counts. Here is
# the baseline, ordinary data parallelism, and Local SGD. Both start from random weights, with Adam
# inside and at 0.006, the best rate of both above:

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


# %% tags=["training"] jupyter={"source_hidden": true}
for method in (gradients_every_step, local_sgd):
    print(f"{method.__name__:20}", score(method, budget=MINUTES))

# %% [markdown]
# ### Your turn: DP-8 · 20 minutes · 10 points
#
# Write `my_method()` in `DP/weight_aggr/my_method.py`: anything that reaches a lower loss. More
# local steps or fewer, an outer optimizer, fewer bytes for each number (`group.all_reduce` charges
# float16 half of float32), only some of the layers at a time, a different learning rate for
# `group.optimizers`, or one that changes as the time runs out. The check takes one of three seeds,
# and its score is how far you are below what `local_sgd` has reached with the same one: 0.04 nats
# pass.

# %% tags=["training"]
check("DP-8")

# %% [markdown]
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - Averaging weights after each step is averaging gradients, if all start alike and the step is
#   linear in the gradient: SGD, with or without momentum.
# - With Adam it's a different algorithm, whose steps are shorter by about $\sqrt n$ where noise
#   dominates. So compare methods only at the best learning rate of each.
# - Averaging gradients doesn't remove an initial difference between the ranks; averaging weights
#   removes it at once.
# - Local steps save messages and cost loss, because the ranks drift apart. DiLoCo, an outer
#   optimizer with momentum on the averaged change, recovers part of it.
# - It pays where averaging takes long compared with computing, $a/c > (256 - k)/(k - 256/H)$ if
#   averaged gradients need $k$ steps instead of 256: between data centers, not in one.
# - One run is an anecdote. Compare seed by seed, on new text.
#
# ## In the wild
#
# - **DiLoCo** with 8 workers did as well as fully synchronous training on C4 while communicating
#   500 times less ([2311.08105](https://arxiv.org/abs/2311.08105), abstract).
# - **INTELLECT-1**, 10 billion parameters and 1 trillion tokens, was trained with DiLoCo on up to
#   14 nodes on three continents. With $H = 100$ and an all-reduce in 8-bit integers it moved 400
#   times less than data parallelism with gradients of 32 bits, at 83 to 96 % compute utilization
#   ([2412.01152](https://arxiv.org/abs/2412.01152)).
#
# To read: `LocalSGD` and `DiLoCo` in `torchft/local_sgd.py` of
# [torchft](https://github.com/pytorch/torchft). Find the place where the difference of two sets of
# weights becomes a `.grad`.
#
# ## Homework
#
# Phones don't choose which texts they hold. In a cluster we do, so we have to say who reads what,
# with nothing lost and nothing read twice, even where $n$ doesn't divide the number of items.
#
# ### Your turn: DP-3 · 20 minutes · 10 points
#
# Write `partition()` and `epoch_order()` in `DP/partition/partition.py`: which items a rank reads,
# and in which order in each epoch. All ranks have to come to the same shuffle without sending a
# message.

# %%
check("DP-3")

# %% [markdown]
# ## Where next
#
# Data parallelism needs room for the whole model on every rank. [Lesson
# 05](05_naive_pipeline.ipynb) cuts the model itself.
