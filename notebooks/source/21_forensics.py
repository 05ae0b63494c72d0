# %% [markdown]
# # Forensics: twelve training runs that hide a mistake
#
# *Reading 25 minutes · tasks 0 · machine 1*
#
# *With twenty minutes: read as far as the first case, and find its mistake.*
#
# A deadlock is a kind mistake: the program stops, and in this lab it even says where. The mistakes
# that cost weeks don't stop anything. The loss falls, no rank waits, the checkpoint loads, and the
# model is a little worse than the one you paid for, because a gradient was added up once too often
# or two ranks read the same text.
#
# In this lesson you get twelve sick training runs, and each hides one such mistake. You know all
# the tools by now. What's left to learn is in which order to use them.
#
# **Question.** The loss curve looks right. How do you find out whether the training is?
#
# The first four cases are easy and take about forty minutes in class. The other eight are homework.

# %%
import sys

import torch

from helpers.draw.chain import chain
from helpers.lesson import claim, predict, quick, reveal, show
from helpers.trace import with_waits

sys.path[:0] = ["../forensics"]
import one_device
from cases import Case, mistakes, spread, truth

# %% [markdown]
# ## The training
#
# `forensics/one_device.py` trains a small language model on one device: attention with rotary
# positions, dropout, and two experts that a router mixes. A step reads eight stories in four
# micro-batches. The stories have different lengths, so the shorter ones end in padding, which
# mustn't count.
#
# The sick scripts are meant to do the same on four ranks, with several ideas of this course at
# once. There are two **replicas** (ranks 0 and 1, ranks 2 and 3), and each reads half of the
# stories. Inside a replica, two ranks share every story: one has the first half of its tokens, the
# other the second half, and they exchange keys and values. Each of the two also has one of the two
# experts. Finally, each replica updates only half of the weights, and sends them to the other one.
#
# The log of a run shows the loss of every eighth step. Here are five healthy runs, which differ
# only in their seed, and one sick run.

# %%
example = Case(0)
show(example.picture())

# %%
predict(
    "L21-1",
    "There are twelve mistakes, from gradients that are twice too large to positions that are "
    "wrong. How many of their curves leave the spread of the five healthy seeds at some printed "
    "step?",
    "most of them",
    "those with wrong gradients",
    "none",
)

# %%
outside = 0
low, high = spread()
for runs in truth("_curves").SICK.values():
    for losses in runs.values():
        outside += not all(a <= x <= b for a, x, b in zip(low, losses, high, strict=True))
gap = max(b - a for a, b in zip(low, high, strict=True))
print(f"two healthy seeds differ by up to {gap:.2f} nats")
claim.same("sick curves outside of that", outside, 0)
reveal("L21-1", outside=outside)

# %% [markdown]
# To be fair, we searched for seeds that show this, and we chose the five healthy ones among 25. A
# sick run with a random seed often leaves the spread of a random five, but so does a sixth healthy
# run. And in practice you have one run and one curve, and nobody shows you the other five.
#
# ## A step is a chain
#
# So don't look at the loss. A step is a chain of stations, and at each of them there's something
# that must equal what one device has, up to rounding. The first station where it doesn't is next to
# the mistake, and everything after it is a consequence.

# %%
show(
    chain(
        [
            ("data", "who reads what?", "stories()"),
            ("forward", "the loss of each token", "tokens()"),
            ("backward", "each micro-batch's gradients, before any message", "backwards()"),
            ("messages", "the gradients after them", "gradients()"),
            ("update", "rate, norm, weights", "log(), judge()"),
            ("replicas", "what two ranks hold must be equal", "disagreements()"),
        ],
        "The first station that differs is next to the mistake",
    )
)

# %% [markdown]
# From `tokens()` to `judge()`, each call compares with one device that starts from the very weights
# that the sick run had before this step. That matters, because weights that have been trained
# wrongly for a while are different everywhere, and then a comparison tells you nothing. (Only
# `log()` compares with a whole healthy run.)
#
# Let's go through the chain once, with a thirteenth mistake. We begin with step 0. (`judge` is
# given each replica as a whole, so the two "ranks" of its sentence are the two replicas.)

# %%
example.run(at=0)
example.backwards()
example.gradients()
example.judge()

# %% [markdown]
# The first step is right: every gradient and every weight. Many tests stop here, but let's look at
# step 2 as well. `tokens()` prints a dot for each token whose loss is one device's, an x where it
# isn't, and nothing for padding. The bar is where the second rank's half begins.

# %%
example.run(at=2)
example.tokens()

# %%
example.backwards()
example.gradients()

# %%
predict(
    "L21-2",
    "Step 0 was right. In step 2 the data, the forward and what each backward adds are right, but "
    "the gradients after the messages are wrong. What is it?",
    "an all-reduce over the wrong group",
    "a micro-batch that counts twice",
    "something that is left over from the step before",
)

# %% [markdown]
# You can ask the oracle as well. It tries on the numbers every mistake that it knows, but it
# doesn't know this layout, so read its sentence as a hint. Then read the training loop.

# %%
example.judge()
start = example.text[: example.text.index("def train")].count("\n") + 1
example.listing(start, start + 16)
reveal("L21-2")

# %% [markdown]
# An accusation names four things: which rank, which tensor, which line, which mistake.

# %% tags=["time"]
lines = example.text.splitlines()
line = next(n for n, text in enumerate(lines, 1) if "zero_grad" in text)
example.accuse(rank="all", tensor="all", line=line, mistake="left over")

# %% [markdown]
# Notice what gave it away: not the place, but the difference between two steps. What a single step
# gets wrong shows in step 0. What needs a past (a stale buffer, an optimizer's state, a schedule)
# shows later, so always look at two steps.
#
# ## Gradients or weights?
#
# In the end you want the right weights, so why not just compare those after a step? Try it with a
# plain mistake:

# %%
predict(
    "L21-3",
    "All gradients are twice too large, and AdamW takes its first step. How far are the weights "
    "from where they should be, compared with how far the step moves them?",
    "as far as the step moves them: it's twice as long",
    "half as far",
    "less than a hundredth of it",
)


# %%
def moved(factor):
    """The weights before and after one step of AdamW with gradients `factor` times too large."""
    model = one_device.Model(0)
    before = torch.cat([p.detach().flatten().clone() for p in model.parameters()])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    (factor * one_device.nll(model, 0, range(2)).mean()).backward()
    optimizer.step()
    return before, torch.cat([p.detach().flatten() for p in model.parameters()])


before, right = moved(1)
_, wrong = moved(2)
share = ((wrong - right).norm() / (right - before).norm()).item()
claim.below("the weights are off, as a share of what the step moved them, by", share, 0.01)
reveal("L21-3")

# %% [markdown]
# AdamW divides each gradient by its own size, so a factor on all of them cancels, and an adaptive
# optimizer hides what you're looking for. That doesn't make the mistake harmless: clipping depends
# on the norm, weight decay that's added to the gradients (as in plain Adam) gets too small a share,
# and with SGD the factor is a different learning rate. So compare gradients, or judge with SGD.
#
# ## Your turn: the cases
#
# `CLASS` is a number that your teacher gives you, so that everybody has the same twelve. Another
# number draws mistakes, places and seeds anew. The clock starts with the line `Case(…)`.
#
# The scripts also differ in lines that change nothing, and some of these look suspicious. So if you
# compare two scripts, you only get suspects, and it takes a tool to convict one.

# %% tags=["time"]
CLASS = 1
case = Case(1, seed=CLASS)
log = case.run(at=2, steps=quick(8, 4))
print(case)
case.stories()

# %%
case.tokens()

# %%
case.backwards()
case.gradients()
case.disagreements()

# %% [markdown]
# There are three more things to look at: the log, with one device's values in parentheses, the
# trace, which shows which rank waits for which, and the script. (Don't expect much of the trace.
# None of the twelve mistakes makes a rank wait any longer, which is one reason why nobody has
# noticed them.) Some mistakes don't show in every step. For example, nothing is clipped in the
# first few. So if step 2 is right, look at step 12 with `case.run(at=12)`.

# %% tags=["time"]
case.log()
print(f"{case.bits_per_byte():.2f} bits per byte after {len(log)} steps")
ends = [event.end for event in case.trace.events_of(0) if event.kind == "broadcast"]
show(with_waits(case.trace).between(ends[-2], ends[-1]))

# %%
case.listing(65, 112)

# %% [markdown]
# When you know what it is, accuse: name a rank that does it wrong, or "all" of them; a tensor that
# it spoils, or "all" if no tensor is spared; the line; and the mistake, by its short name. Each
# further attempt costs a point.

# %%
for name, meaning in mistakes().items():
    print(f"{name:9} {meaning}")

# %%
# case.accuse(rank="all", tensor="all", line=1, mistake="clip", name="your name")

# %% [markdown]
# If you add your `name`, your points go to `scores.json`, and `python cases.py board scores.json …`
# in `forensics` makes the scoreboard of a class from such files. Cases 1 to 4 are worth 4 points
# each, 5 to 8 are worth 8, and 9 to 12 are worth 12.
#
# ## The same for your own scripts
#
# None of this needs our training script. `python -m helpers.oracle SINGLE PARALLEL` runs two
# scripts as they are, watches one step of each, and compares the two. Those in `forensics/theirs`
# know nothing of this course: one trains a Hugging Face LLaMA on one device, the other trains the
# same under FSDP2 on two ranks. (Here they train a model of torch's own layers, which loads
# sooner.) In this run, one layer was never given to `fully_shard`.

# %%
from helpers.oracle.__main__ import compare_scripts, first_difference

flags = ["--model", "plain", "--forget", "half"]
pair = ("../forensics/theirs/alone.py", "../forensics/theirs/fsdp2.py")
found = compare_scripts(*pair, ranks=2, arguments=(flags, flags))
first = first_difference(found)
print(f"first to differ: the {first.kind} of {first.name} on rank {first.rank}\n")
claim.same(f"{found.headline}: {found.mistake}", not found.ok)

# %% [markdown]
# It can say so much because the single script calls backward once for each rank's batch, so the
# gradient of each rank is known separately. And it says so when it can't compare: if a script takes
# no step, if there are two models in one script, with FSDP1's flat parameters, or if ranks that
# hold the same tensor disagree.
#
# ## The method, on one page
#
# Before you believe a distributed training run, compare these, in this order, because each line
# takes the ones above it for granted:
#
# | | compare | with | finds |
# |---|---|---|---|
# | 1 | the numbers of the samples on each rank | a list made by hand | overlaps and gaps |
# | 2 | the weights before step 0, on all ranks | each other | a seed, a missing broadcast |
# | 3 | the loss of each token | one device | positions, masks, dropout |
# | 4 | one micro-batch's gradients, before messages | one device | a backward, a divisor |
# | 5 | the gradients after messages and clipping | one device | groups, sums taken twice |
# | 6 | learning rate and gradient norm | one device's log | a scheduler, a norm |
# | 7 | the weights after the step, on all ranks | each other | stale shards, local clipping |
# | 8 | lines 3 to 7, two steps later | one device, same weights | what is left over |
#
# Do it in float64 and with SGD where you can, on a tiny model, with all the layouts you'll use, and
# with micro-batches of *different* lengths. It takes seconds, and that's cheaper than a week on the
# cluster.
#
# ## What to remember
#
# - A loss curve can't tell a mistake from a seed: a silent mistake can cost less than the
#   difference between two seeds.
# - Walk along the chain: data, forward, backward, messages, update, replicas. The first difference
#   is next to the mistake.
# - Compare gradients, not weights: an adaptive optimizer hides every factor.
# - Compare from the same weights, and at two steps.
#
# ## In the wild
#
# - In October 2024 it turned out that gradient accumulation in a widely used library had weighted
#   micro-batches of different lengths equally, for years
#   ([its own account](https://huggingface.co/blog/gradient_accumulation)). Nobody had seen it in a
#   curve.
# - In 54 days of training Llama 3 405B on 16,384 GPUs there were 419 unexpected interruptions, and
#   six of them were put down to silent data corruption
#   ([2407.21783](https://arxiv.org/abs/2407.21783), section 3.3.4). Those are the ones that were
#   noticed.
# - PaLM 540B had about 20 loss spikes. Each time, training was restarted from a checkpoint about
#   100 steps before the spike, and 200 to 500 batches were skipped
#   ([2204.02311](https://arxiv.org/abs/2204.02311), section 5.1).
#
# Go and read `finalize_model_grads` in Megatron-LM's
# `megatron/core/distributed/finalize_model_grads.py`. It's a list of everything that must be added
# up after the last backward: the gradients of normalizations and of tied embeddings, the tokens
# that each expert has seen, the number of tokens to divide by. Leave out the right line there, and
# you have one of your twelve cases.
#
# ## Where next
#
# This was the last lesson. Take a training script of your own, write its twin for a single device,
# and ask the oracle. [Lesson 00](00_welcome.ipynb) has the list of what you've read.
