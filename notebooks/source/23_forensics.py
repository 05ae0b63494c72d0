# %% [markdown]
# # Forensics: fourteen training runs, and what they hide
#
# *Reading 30 minutes, tasks 360 (homework 300)*
#
# *With twenty minutes: read to "A second case"; the example's mistake is yours to find.*
#
# A deadlock is a kind mistake: the program stops, and in this lab it even says where. The mistakes
# that cost weeks don't stop anything. The loss falls, no rank waits, the checkpoint loads, and the
# model is a little worse than the one you paid for, because a gradient was added up once too often
# or two ranks read the same text.
#
# In this lesson you get fourteen training runs, and nearly every one hides such a mistake. In one
# of them two mistakes cancel, and one is healthy, which is the hardest verdict of all. You know the
# ideas by now. What's left to learn is their order.
#
# **Question.** The loss curve looks right. How do you find out whether the training is?

# %%
import sys
from statistics import stdev

from helpers.lesson import predict, reveal, show

sys.path[:0] = ["../forensics"]
from cases import Case, mistakes, outside, truth

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
# other the second half, and they exchange keys and values (lesson 15). Each of the two also has one
# of the two experts (lesson 16). And the optimizer is ZeRO-1 (lesson 13): each replica updates
# about half of the tensors, and sends them to the other one.
#
# Here is the loss of every eighth step: of 25 healthy runs, which differ only in their seed, and of
# one sick run.

# %%
example = Case(0)
show(example.picture())

# %% jupyter={"source_hidden": true}
predict(
    "forensics-1",
    "Every variant of each mistake was trained once, each with a seed of its own. If its curve "
    "leaves the band of the 25 healthy ones at some printed step, what does that tell you?",
    "it's sick: that's what a band is for",
    "little: the same seed often leaves it without the mistake, too",
    "nothing at all, and none of them does",
)

# %%
curves = truth("_curves")
healthy = list(curves.HEALTHY.values())
sick = {seed: losses for runs in curves.SICK.values() for seed, losses in runs.items()}
out, alone = (
    sum(outside(losses, healthy) for losses in runs.values()) for runs in (sick, curves.TWINS)
)
spread = [stdev(losses) for losses in zip(*healthy, strict=True)]
cost = {}  # by variant: how far it moves a printed loss at most, in standard deviations
for name, runs in curves.SICK.items():
    [(seed, losses)] = runs.items()
    pairs = zip(losses, curves.TWINS[seed], spread, strict=True)
    cost[name] = max(abs(sick - well) / one for sick, well, one in pairs)
small = sum(0 < c < 0.4 for c in cost.values())

# %% jupyter={"source_hidden": true}
print(f"{out} of {len(sick)} curves leave the band of the 25 healthy runs")
print(f"{alone} of the same {len(sick)} seeds leave it without the mistake")
print(f"{small} of {len(cost) - 2} runs with a mistake move no loss by 0.4 standard deviations")
print("more than one:", ", ".join(f"{n} {c:.1f}" for n, c in cost.items() if c > 1))
reveal("forensics-1", sick=out, of=len(sick), healthy=alone)

# %% [markdown]
# The edges of a band are accidents: at each printed step some run has to be the highest of 26, and
# some the lowest. By that alone at most 8 of 26 would leave it on average. Here it's 13 without any
# mistake: all are compared with the same band, which may happen to be narrow. (Two of the 26 sick
# curves even belong to runs that train correctly: you'll meet them.) Comparing a seed with itself,
# with the mistake and without, would be a test, but at full size nobody has the other curve.
#
# ## A step is a chain
#
# So don't look at the loss. A step is a chain of stations, and at each of them there's something
# that must equal what one device has, up to rounding. Ask first: do all ranks begin the step with
# the same weights? If they do, the first station that differs is next to a mistake, and what
# differs after it may only follow from it. If they don't, the mistake is in an earlier step, or
# before the first one: another seed, or a broadcast that's missing.
#
# | station | what to compare there | shown by |
# |---|---|---|
# | replicas | what two ranks hold must be equal | `disagreements()` |
# | data | who reads what? | `stories()` |
# | forward | the loss of each token | `tokens()` |
# | backward | each micro-batch's gradients, before any message | `backwards()` |
# | messages | the gradients after them and clipping | `gradients()` |
# | update | rate, norm, weights | `log()`, `judge()` |
#
# `disagreements()` compares ranks with each other, and `stories()` prints what you compare with a
# list of your own. From `tokens()` to `judge()`, each call compares with one device that starts
# from the weights that replica 0 had before this step. That matters, because weights that have been
# trained wrongly for a while are different everywhere, and then a comparison tells you nothing.
# (Only `log()` compares with a whole healthy run.)
#
# Let's go through most of the chain once, with a mistake that isn't among the fourteen. We begin
# with step 0, where every rank has just made its weights from the same seed. (`judge` is given each
# replica as a whole, so the two "ranks" of its sentence are the two replicas, and its 50 tensors
# are 25 gradients and 25 updated weights; at a later step it compares the gradients alone. A rank
# has 21 of the 25 tensors, because it lacks the other expert.)

# %%
example.run(at=0)
example.backwards()
example.gradients()
example.judge()

# %% [markdown]
# The first step is right: every gradient and every weight. Many tests stop here, but let's look at
# step 2 as well, beginning with the first station. `tokens()` prints a dot for each token whose
# loss is one device's, an x where it isn't, and nothing for padding. The bar is where the second
# rank's half begins.

# %%
example.run(at=2)
example.disagreements()
example.tokens()

# %%
example.backwards()
example.gradients()

# %% jupyter={"source_hidden": true}
predict(
    "forensics-2",
    "Step 0 was right. In step 2 the data, the forward and what each backward adds are right, but "
    "the gradients after the messages are wrong. What is it?",
    "an all-reduce over the wrong group",
    "a micro-batch that counts twice",
    "something that is left over from the step before",
)

# %% [markdown]
# You can ask the oracle as well. It tries every mistake it knows on the numbers, but it doesn't
# know this layout, so read its sentence as a hint. Then read the training loop.

# %%
example.judge()
start = example.text[: example.text.index("def train")].count("\n") + 1
example.listing(start, start + 16)
reveal("forensics-2")

# %% [markdown]
# An accusation names four things: which rank, which tensor, which line, which mistake.

# %% tags=["time"]
lines = example.text.splitlines()
line = next(n for n, text in enumerate(lines, 1) if "zero_grad" in text)
example.accuse(rank="all", tensor="all", line=line, mistake="left over")

# %% [markdown]
# Notice what gave it away: not the place, but the difference between two steps. If something is
# right at first and wrong later, either it carries something over from earlier steps (gradients
# that weren't cleared), or it depends on a condition that step 0 doesn't meet (a norm large enough
# to be clipped). So always look at two steps, one of which clips. (`judge` doesn't compare the
# weights *after* a later step, because it doesn't know what Adam remembers. So an optimizer state
# that is wrong in the same way everywhere shows in the log alone.)
#
# ## A second case, from the mistake to its trace
#
# Now the other way round. A mean of means (of micro-batches that differ in length) was in the
# trainer of Hugging Face's Transformers until October 2024, and it was found by comparing two
# curves that should have been the same, with gradient accumulation and without
# ([their own account](https://huggingface.co/blog/gradient_accumulation)). Comparing the gradients
# of a single step would have found it. Its sibling between replicas stayed the default there until
# 2025 ([#39395](https://github.com/huggingface/transformers/pull/39395)). Let's plant that one:
# each replica divides by twice its *own* tokens, which should come out the same.

# %%
second = Case(0)
cured = second.text.replace("optimizer.zero_grad", "rank.model.zero_grad")
whole = "dist.all_reduce(count)\n        return count"
own = "dist.all_reduce(count, group=self.row)\n        return 2 * count"
second.text = cured.replace(whole, own)

# %% [markdown]
# Walk along the chain in your head. The replicas agree, the stories are the right ones, and no
# token's loss knows what it will be divided by, so the first three stations are right. But backward
# does know: it divides by twice the replica's tokens instead of all tokens of the step.

# %% jupyter={"source_hidden": true}
predict(
    "forensics-3",
    "One replica has fewer tokens than the other, and each divides by twice its own. What do "
    "backwards() and then gradients() print?",
    "one factor everywhere, and the same factor after the messages",
    "for each replica a factor of its own, and no common factor after the messages",
    "wrong for each replica, but right after the messages, because the mean repairs it",
)

# %%
second.run(at=1)
second.stories()
second.tokens()
second.backwards()
second.gradients()
second.log()
reveal("forensics-3")

# %%
every, name = second._found(), "layers.0.mlp.experts.0.0.weight"  # ranks 0 and 2 have all of it
n = [sum((losses > 0).sum().item() for losses in rank["losses"]) for rank in every]
for first in (0, 2):
    own, right = n[first] + n[first + 1], second.one.backwards[first][name]
    factor = (every[first]["backwards"][0][name].norm() / right.norm()).item()
    print(f"{own} of {sum(n)} tokens: {factor:.3f} times, expected {sum(n) / (2 * own):.3f} times")

# %% [markdown]
# If all tensors are off by one factor before any message, look for it in the loss: what is it
# divided by? Try ratios of the numbers of dots. In the log the loss is wrong in its fourth decimal
# and the norm by 0.2 %, which no curve shows; the gradients do. (Not the weights: AdamW hides a
# factor, as in lesson 03.)
#
# ## The cases
#
# ### Your turn: cases 1 to 4 · 60 minutes
#
# Take half an hour for the first, since you have to read the script, and ten minutes for each of
# the others. `CLASS` is a number that your teacher gives you, so that everybody has the same
# fourteen. Another number changes their order within a level, and where some of the mistakes are
# planted. Each mistake occurs once, so strike off those you've found. (The clock decides only
# between equal scores.)
#
# The scripts also differ in lines that change nothing, and some of these look suspicious. So if you
# compare two scripts, you only get suspects, and it takes a tool to convict one.

# %% tags=["time"]
CLASS = 1
case = Case(1, seed=CLASS)
case.run(at=2)
print(case)

# %% [markdown]
# Now walk the chain as above, from `case.disagreements()` to `case.judge()`. `case.log()` prints
# the log with one device's values in parentheses, and `case.listing()` the script. (Traces of who
# waits for whom are of no use here: none of the mistakes makes a rank hang.) Some mistakes don't
# show in every step: a healthy run clips nothing in the first few. So if step 2 is right, look at
# step 12 with `case.run(at=12)`.
#
# When you know what it is, accuse: name a rank that does it wrong, or "all" of them; a tensor that
# it spoils, or "all" if no tensor is spared; the line; and the mistake, by its short name. Each
# further attempt costs a point.

# %%
for name, meaning in mistakes().items():
    print(f"{name:9} {meaning}")

# %% jupyter={"source_hidden": true}
# case.accuse(rank="all", tensor="all", line=1, mistake="clip")

# %% [markdown]
# Cases 1 to 4 are worth 4 points each, 5 to 9 are worth 8, and 10 to 14 are worth 12.
#
# Two of the fourteen are of another kind. If two mistakes **cancel**, one station of the chain is
# wrong and those after it are right. That's no reason to leave the mistakes in: they only cancel in
# this layout, and as soon as somebody fixes one, the gradients are wrong. Name a line of either
# mistake. And for a **healthy** run only the verdict counts, "none". It takes longest to reach,
# because you have to walk the whole chain at two steps, one of which clips, before you can be sure.
#
# ## The same for your own scripts
#
# The comparison of gradients and weights works on other scripts, too.
# `python -m helpers.oracle SINGLE PARALLEL` runs two scripts as they are and compares a step of
# each, or says why it can't. In `forensics/theirs` are two that know nothing of this course: one
# trains a Hugging Face LLaMA on one device, the other the same under FSDP2 on two ranks. (With
# `--model plain` it's a model of torch's own layers, which loads sooner.) Here FSDP2 was told to
# leave one layer alone (`ignored_params`), so nobody averages that layer's gradients.

# %%
from helpers.oracle.__main__ import compare_scripts, first_difference

flags = ["--model", "plain", "--forget", "half"]
pair = ("../forensics/theirs/alone.py", "../forensics/theirs/fsdp2.py")
found = compare_scripts(*pair, ranks=2, arguments=(flags, flags))
first = first_difference(found)

# %% jupyter={"source_hidden": true}
print(f"first to differ: the {first.kind} of {first.name}\n")
print(f"{found.headline}: {found.mistake}")
print("the tensors that differ are of", *{row.name[:8] for row in found.rows if not row.ok})

# %% [markdown]
# ## The method, on one page
#
# Before you believe a distributed training run, compare these, in this order, because each line
# takes the ones above it for granted:
#
# | | compare | with | finds |
# |---|---|---|---|
# | 1 | the weights before the step, all ranks | each other | a seed, a broadcast, stale shards |
# | 2 | which samples each rank reads | a list made by hand | overlaps and gaps |
# | 3 | the loss of each token | one device, same weights | positions, masks, dropout |
# | 4 | one micro-batch's gradients, before messages | one device | a backward, a divisor |
# | 5 | the gradients after messages and clipping | one device | groups, sums taken twice |
# | 6 | learning rate and gradient norm | one device's log | a scheduler, a norm |
# | 7 | lines 1 to 6 later, and where it clips | | what is left over, or clipped by each alone |
#
# And if all you have is a log, compare it with one device's from the same seed (possible at a small
# size). Curves can't convict, but they tell you where to look first, and which causes look alike:
#
# | loss and norm | cause | unless |
# |---|---|---|
# | the norm is off by a factor, fixed or not | a divisor | `backwards()` is right: it's the norm |
# | the norm is off by a percent or less | a few tensors | all are off: each rank's own divisor |
# | the loss is off in step 0 | the data | `stories()` is right: it's the forward |
# | the loss is off from step 1 on | the rate, or weights | the norm was first: left over |
# | both are right, and later not | a condition: clipping | two right runs diverge, too: rounding |
# | the loss leaves the band of other seeds | its seed | its healthy twin doesn't leave it |
#
# How large a difference counts? In float32 the tools allow $10^{-4}(1 + \text{loss})$ for a token,
# and for a gradient $10^{-5}$ of its tensor's largest entry. (A healthy run's log agrees with one
# device's to four decimals in all 32 steps.) In bfloat16, or with other kernels, measure first how
# far two *right* runs are apart. And whatever is random must not depend on the layout: here each
# story has its own dropout mask, wherever it's read.
#
# Do it in float64 and with SGD where you can, on a tiny model, with all the layouts you'll use, and
# with micro-batches of *different* lengths. It takes seconds.
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - A loss curve can't tell a mistake from a seed: in 32 steps most silent mistakes cost far less
#   than another seed does.
# - Do all ranks begin with the same weights? Then walk along the chain: data, forward, backward,
#   messages, update. The first difference is next to a mistake.
# - Compare gradients, from the same weights, and at two steps. All of it trusts the one device:
#   what's wrong there is wrong everywhere, and nothing here sees it.
#
# ## In the wild
#
# - Lesson 21's silent data corruption is the same problem in hardware. To find it, run a
#   deterministic step again on *other* GPUs: a defective one may repeat its own mistake exactly.
#
# Go and read `finalize_model_grads` in Megatron-LM's
# `megatron/core/distributed/finalize_model_grads.py`. It's a list of everything that must be added
# up after the last backward: the gradients of normalizations and of tied embeddings, the tokens
# that each expert has seen, the number of tokens to divide by. Leave out the line of the
# normalizations, and you have one of your cases.
#
# ## Homework: cases 5 to 14
#
# ### Your turn: cases 5 to 14 · 300 minutes
#
# Twenty minutes each for 5 to 9, forty for 10 to 14, the healthy one included. (All minutes here
# are estimates: no class has been timed.)
#
# ## Where next
#
# This was the last lesson. Write your own script's twin for a single device, and ask the oracle.
