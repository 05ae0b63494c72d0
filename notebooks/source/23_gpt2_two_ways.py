# %% [markdown]
# # GPT-2: two ways to split it
#
# *Reading 30 minutes · tasks 95 (homework 95) · machine 2*
#
# *With twenty minutes: read up to "Homework"; you need to write no code until there.*
#
# GPT-2 is the model many courses start with, for good reason: it's small enough to understand as a
# whole, and it's a real language model. Here a small one begins to translate German into English.
# Then we split its training in two ways: each device gets a part of the **data**, or each device
# gets a part of the **layers**.
#
# By now you know both ways well. What you haven't seen is the two of them side by side, on one
# model that has learned something, and with a rule that says which to choose.
#
# **Question.** Does a split change what the translator learns? And which of the two is faster, and
# when?

# %%
import sys
import threading
from functools import partial

import torch

from helpers.draw import curves
from helpers.grade import check
from helpers.lesson import answer, claim, predict, reveal, show, show_code
from helpers.network import Link
from helpers.ranks import launch
from helpers.schedules import gpipe

# %%
sys.path.append("../gpt2")  # a lab with its own folder of modules
torch.set_num_threads(1)  # in this lab, one device is one core
SENTENCES, EPOCHS = quick(1000, 32), quick(3, 1)

# %% jupyter={"source_hidden": true}
from helpers.draw.splits import two_splits

show(two_splits())

# %% [markdown]
# ## One device learns to translate
#
# The sentences come from a small grammar that writes both languages. German has three genders,
# adjectives with endings, and verbs at the end of the sentence, so there's something to learn.

# %%
from project.data import load

rows = load(train=SENTENCES, held_out=24)

# %% jupyter={"source_hidden": true}
for row in rows.train[:3]:
    print(f"{row['de']}\n    {row['en']}")

# %% [markdown]
# GPT-2 predicts the next token and nothing else. So both sentences go into one row: the German one,
# a token for its end, the English one, a token for its end. Only the English tokens and their end
# should count in the loss, so they have the weight 1 and all others the weight 0.

# %% jupyter={"source_hidden": true}
from project.models import make_config, make_model
from project.utils import collate_batch, get_tokenizer, token_losses

# %%
tokenizer = get_tokenizer(rows.train, 600, "de", "en")
collate = partial(
    collate_batch, src_key="de", tgt_key="en", tokenizer=tokenizer, model_max_length=48
)
batch = collate(rows.train[:2])

# %%
told = zip(batch["labels"][0].tolist(), batch["label_token_weights"][0].tolist(), strict=True)
print("what is to be predicted, and in brackets what counts:")
print(*(f"[{tokenizer.decode([t])}]" if weight else tokenizer.decode([t]) for t, weight in told))

# %% [markdown]
# How good is a translation? **BLEU** compares its words, and its groups of up to four words, with
# those of the right translation: 0 is the worst, and 100 means that both are the same
# ([Papineni et al., 2002](https://aclanthology.org/P02-1040/)). Here it's measured on 24 sentences
# that the model has never seen.

# %% tags=["training"]
from project import utils
from project.control import learn, learn_on_ranks

one = learn("one device", EPOCHS, SENTENCES)

# %% tags=["training"]
for number, epoch in enumerate(one):
    print(f"epoch {number}: validation loss {epoch.loss:.2f} nats per token, BLEU {epoch.bleu:.0f}")
print()
for number in (0, 1, 2):
    row = rows.test[number]
    print(f"{row['de']}\n    right:         {row['en']}")
    for after, epoch in enumerate(one):
        print(f"    after epoch {after}: {epoch.said[number]}")

# %% [markdown]
# After three epochs one of these three is right, and the long one gets only its beginning right.
# (Our weights are drawn with a standard deviation of 0.06, not GPT-2's 0.02: `gpt2/README.md` says
# why.)
#
# ## Two devices, half of the data each
#
# Each rank has the whole model and half of the sentences of every batch, and they average their
# gradients. Lesson 03 showed that it's the same training, and there's no dropout here that could
# differ. For a claim about the translator we need a control that reads the same sentences in the
# same order, because a different order makes it a different training run. So both begin with the
# weights just trained and a fresh AdamW, and read the same sentences for another epoch:

# %% tags=["training"]
again = learn("one device", 1, SENTENCES, weights=one[-1].weights)[0]
halves = launch(
    learn_on_ranks, 2, (1, SENTENCES, one[-1].weights), quiet=True, checked=False
)[0][0]  # fmt: skip


# %%
def off(epoch):
    """How far its weights are from one device's, as a share of how far the epoch moved these."""
    ends, alone, start = (
        torch.cat([w.flatten() for w in each.weights]) for each in (epoch, again, one[-1])
    )
    return ((ends - alone).norm() / (alone - start).norm()).item()


def beside(name, epoch):
    same = sum(a == b for a, b in zip(epoch.said, again.said, strict=True))
    print(f"{name}: BLEU {epoch.bleu:.1f}, one device {again.bleu:.1f}; {same} of 24 translations "
          "are the same, word for word")  # fmt: skip
    claim(f"{name}: its loss, and one device's", epoch.loss, again.loss, within=0.01)
    claim.below("its weights are off, as a share of the way", off(epoch), 0.02)


# %% tags=["training"]
beside("two ranks", halves)

# %% [markdown]
# What's left is rounding, which Adam enlarges where a gradient is nearly zero (lesson 03). Would
# this comparison catch a mistake? Let's make one.
#
# ## The mean of two means
#
# With sentences of different lengths, one thing is easy to get wrong. Say that one rank has a short
# sentence and the other a long one. Each takes the mean loss over its own tokens, and then the
# ranks take the mean of both.

# %% jupyter={"source_hidden": true}
predict(
    "gpt2_two_ways-1",
    "Is the mean of the two means the mean over all tokens?",
    "yes",
    "no: the tokens of the short sentence count more",
    "no: the tokens of the long sentence count more",
)

# %% tags=["training"]
model = make_model(make_config("tiny", len(tokenizer), 48))
with torch.no_grad():
    for p, learned in zip(model.parameters(), again.weights, strict=True):
        p.copy_(learned)
    short, long = sorted(rows.test, key=lambda row: len(row["en"]))[:: len(rows.test) - 1]
    sums = [token_losses(collate([row]), model) for row in (short, long)]
for total, count in sums:
    print(f"{count:3g} tokens, mean loss {total / count:.4f}")
print(f"mean of the means: {sum(total / count for total, count in sums) / 2:.4f}")
print(f"mean over tokens:  {sum(t for t, _ in sums) / sum(c for _, c in sums):.4f}")
reveal("gpt2_two_ways-1")

# %% [markdown]
# The trainer does it right. With $L_r$ the sum of the losses of rank $r$, $t_r$ its number of
# tokens, and $n$ ranks, each rank calls backward on
#
# $$\frac{n\,L_r}{\sum_s t_s}, \qquad\text{so the mean over the ranks is}\quad \frac{1}{n}\sum_r
# \frac{n\,L_r}{\sum_s t_s} = \frac{\sum_r L_r}{\sum_s t_s}.$$
#
# It costs one more all-reduce per step, of the number of tokens. (A rank whose data has ended goes
# on with a loss of zero, because the others wait for it in their all-reduce.) What if it were done
# wrong? If each rank assumes that the batch has twice its own tokens, we get the mean of means:


# %% tags=["training"]
def wrongly(*how):
    """On a rank: the same epoch with the mean of means."""
    utils.across_ranks = lambda mine: mine.mul_(2)
    return learn_on_ranks(*how)


wrong = launch(wrongly, 2, (1, SENTENCES, one[-1].weights), quiet=True, checked=False)[0][0]
same = sum(a == b for a, b in zip(wrong.said, again.said, strict=True))
print(f"mean of means: BLEU {wrong.bleu:.1f}, and {same} of 24 translations are the same")
claim.below("the limit above, and how far its weights are off", 0.02, off(wrong))

# %% [markdown]
# (The BLEU of 24 sentences doesn't show that it translates worse. The weights show that it's
# another training.)
#
# ## Which way is faster?
#
# **As long as no gradient hides: take the smallest micro-batch that a pipeline can run efficiently.
# If it takes longer to compute than an all-reduce of all gradients takes among many ranks, cut the
# data; otherwise cut the layers.** If latencies are left out, the number of devices doesn't matter.
# Counted in tokens, the model doesn't either, if it's dense and its attention is left out (15 %
# more products for the small GPT-2's 1,024 tokens, or half of that if only the causal half is
# computed).
#
# Let's derive it for $n$ devices, in `dp` replicas of `pp` stages, $n = \text{dp} \cdot \text{pp}$.
# A step has $M \ge \text{dp}$ micro-batches, and one of them would take $c$ seconds on one device,
# forward and backward. Three terms add up: the work, the bubble of lesson 06, which is $\text{pp} -
# 1$ slots of $c/\text{pp}$, and lesson 03's all-reduce. A stage has $S/\text{pp}$ bytes of
# gradients, which travel on a link with $B$ bytes a second:
#
# $$T = \frac{M}{n}\,c + \frac{\text{pp}-1}{\text{pp}}\,c + \frac{2(\text{dp}-1)}{\text{dp}}
# \cdot\frac{S}{\text{pp}\,B}.$$
#
# Multiply by $n$, which counts the seconds of all devices, and something pleasant happens:
#
# $$n\,T = M c + (n - \text{dp})\,c + (\text{dp} - 1)\,\frac{2S}{B}.$$
#
# So each further replica saves one $c$ of bubbles and costs one $2S/B$, an all-reduce of all
# gradients among many ranks. With $c$ below $2S/B$ every replica costs more than it saves: cut
# layers. Above it, cut data.
#
# Which micro-batch does the rule mean? The pipeline's. The first term, $Mc$, is the whole batch,
# however it's cut, and $n$ replicas have no bubble, so $c$ matters to the pipeline alone. It wants
# micro-batches as small as it can run without losing speed.
#
# Eight ranks and eight micro-batches are enough to try it. The plan below comes from the simulator,
# and the ranks are real processes, which sleep where a model would compute (lesson 06) and average
# as many bytes as the plan says over a slow link. (On the translator we couldn't: two ranks share
# this machine's cores.) This is what each of them runs:

# %% jupyter={"source_hidden": true}
show_code("gpt2/project/layouts.py", "_step")

# %% jupyter={"source_hidden": true}
predict(
    "gpt2_two_ways-2",
    "On this link, 2S/B is 1.2 s, and a micro-batch takes c = 1.2 s, too. Eight replicas need "
    "2.25 s for a step, and so does one pipeline of eight stages. And two pipelines of four?",
    "less: it has half of the bubble and half of the gradients",
    "2.25 s as well",
    "more: it pays for a bubble and for gradients",
)

# %% tags=["time"]
from project.layouts import Work, measured, planned

GRADIENTS = 3_400_000  # bytes
LINK = Link.of(alpha=0.0, beta=0.6 / GRADIENTS)
works = [Work(c, gradients=GRADIENTS, link=LINK) for c in quick((0.6, 1.2, 2.4), (0.04,))]
dps = quick((8, 4, 2, 1), (8, 1))


def slowest(some, ways):
    """Seconds of a step, of the slowest of eight ranks: for each of the works and layouts."""
    ranks = launch(measured, 8, (some, ways), quiet=True, checked=False)
    return {(i, dp): max(rank[i][dp] for rank in ranks) for i in range(len(some)) for dp in ways}


# %% tags=["time"]
found, plans = slowest(works, dps), {}
for i, dp in found:
    plan = plans[i, dp] = planned(works[i], dp)
    for _ in range(2):  # the machine may have done something else meanwhile
        if abs(found[i, dp] / plan - 1) > 0.15:
            found[i, dp] = slowest(works[i : i + 1], [dp])[0, dp]

# %% tags=["time"]
print("planned, measured (s)", *(f"{dp} x {8 // dp} stages".rjust(14) for dp in dps))
for i, work in enumerate(works):
    cells = (f"{plans[i, dp]:6.3f}, {found[i, dp]:6.3f}" for dp in dps)
    print(f"c = {work.compute} s".ljust(21), *cells)
worst = max(abs(found[way] / plans[way] - 1) for way in found)
claim.below("furthest from its plan, in up to three tries", worst, 0.15)
few, many = works[0].compute, works[-1].compute
claim.below(f"c = {few} s: one pipeline, and eight replicas", found[0, 1], found[0, 8], 0.1)
claim.below(f"c = {many} s: eight replicas, and one pipeline", *(
    found[len(works) - 1, dp] for dp in (8, 1)), 0.1)  # fmt: skip

# %% tags=["time"]
lines = {}
for what, table in ((" planned", plans), ("", found)):
    for dp in dps:
        seconds = {1e3 * work.compute: table[i, dp] for i, work in enumerate(works)}
        lines[f"{dp} x {8 // dp}{what}"] = seconds
show(curves(lines, "By the plan: left of c = 2S/B = 1,200 ms more stages, right of it replicas",
            quiet=[name for name in lines if "planned" in name],
            x="c, milliseconds of a micro-batch", y="seconds a step"))  # fmt: skip
reveal("gpt2_two_ways-2")

# %% [markdown]
# By the plan a mixture never wins: $n\,T$ is a straight line in `dp`, so one of the two ends is
# best. In our run, at $c$ = 0.6 s, two pipelines of four were about as fast as one of eight, which
# is the furthest behind its plan. Every layout is late, by 0.03 to 0.1 s, one pipeline of eight the
# most, and the delay doesn't grow with $c$. So it looks like a fixed cost of a step, such as its
# messages and barriers; we haven't looked further.
#
# ## If gradients hide, a mixture can win
#
# **By the formula: if gradients travel during backward, and replicas take micro-batches as small as
# the pipeline's, two pipelines are the fastest for $c$ between $0.86$ and $1.2\,S/B$, and replicas
# alone above that.** The crossing was at $2\,S/B$. (We haven't run this one: our ranks average when
# the pipeline has finished.)
#
# At best, gradients hide behind all of the last micro-batch's backward (lesson 10), which is
# $2c/(3\,\text{pp})$ on every device, and $\text{dp}\cdot 2c/3$ on all $n$:
#
# $$n\,T = M c + (n - \text{dp})\,c + \max\Big(0,\ (\text{dp} - 1)\,\frac{2S}{B} -
# \text{dp}\,\frac{2c}{3}\Big).$$
#
# One pipeline has no gradients to send, so its backward hides nothing. The second makes both of
# them useful: it adds $2S/B - 4c/3$ and saves $c$, which pays from $c = \frac67\,S/B$ on. Each
# further one adds $2S/B - 2c/3$, and pays from $\frac65\,S/B$ on. Between the two, a mixture of two
# pipelines is best, for any even $n$ above 2. For eight:


# %%
def beyond(dp, c, n=8):
    """What a step costs beyond Mc, in device-seconds. The unit of time is S/B."""
    return (n - dp) * c + max(0, 2 * (dp - 1) - dp * 2 * c / 3)


for c in (0.8, 1.0, 1.2, 1.3):
    print(f"c = {c} S/B:", *(f"{dp} x {8 // dp}: {beyond(dp, c):5.2f} " for dp in (1, 2, 4, 8)))


def first(dp):
    """The smallest c at which so many replicas are the fastest of all layouts."""
    cs = (c / 1000 for c in range(500, 2000))
    return next(c for c in cs if dp == min((1, 2, 4, 8), key=lambda dp: beyond(dp, c)))


claim("c / (S/B) from which two pipelines are the fastest", first(2), 6 / 7, 0.01, how="found")
claim("and from which eight replicas are", first(8), 6 / 5, 0.01, how="found")

# %% [markdown]
# That range needs replicas that take one sequence at a time. With two, eight replicas hide twice as
# much, $8 \cdot \frac{4c}{3}$ of $14\,S/B$, and are the fastest from $c = 0.79\,S/B$ on, before a
# second pipeline pays. There are other reasons to mix. A model may not fit on one device, a batch
# may have fewer than $n$ micro-batches, and real links are unequal, so it matters whether gradients
# or hidden states get the fast one.
#
# ## GPT-2 in tokens
#
# With $P$ parameters and a device that reaches $F$ FLOP/s (in lesson 11, $F$ was the peak), a
# micro-batch of $\tau$ tokens takes $c = 6P\tau/F$, and with $b$ bytes for each gradient $S = bP$.
# So if $c$ is $k$ times $S/B$, the model cancels as well:
#
# $$\tau = k\,\frac{b}{6}\cdot\frac{F}{B}, \qquad k = 2 \text{ if no gradient hides.}$$
#
# With large products an H100 reaches $F$ = 400 TFLOP/s in a step. (A small GPT-2 gets less, which
# lowers every number of tokens below.) Its network card sends $B$ = 50 GB/s, and gradients are
# summed in 32 bits. From how many tokens in a micro-batch is it faster to cut GPT-2's data, if no
# gradient hides? (To 1 %.)

# %%
mine = None
answer("gpt2_two_ways-3", mine)

# %% [markdown]
# GPT-2 has sequences of 1,024 tokens, so a pipeline's smallest micro-batch is one of them. Inside a
# node the link has 450 GB/s:

# %%
for gradients, two, most in (("wait", 2, 2), ("hide", 6 / 7, 6 / 5)):
    for link in (50e9, 450e9):
        low, high = (k * 4 / 6 * 400e12 / link for k in (two, most))
        cut = "data" if high < 1024 else "layers"
        mixture = f"two pipelines from {low:,.0f}, " if low < high else ""
        print(f"gradients {gradients}, {link / 1e9:.0f} GB/s: {mixture}"
              f"replicas from {high:,.0f} tokens; with 1,024, cut {cut}")  # fmt: skip

# %% [markdown]
# So by the formula alone, what decides inside a node is whether gradients hide. Between nodes the
# table says layers; if gradients hide, only as long as a replica, too, takes one sequence at a
# time. But it may take many: its gradients hide completely behind the backward of $(b/2)\,F/B$
# tokens (lessons 09 and 10), 16 sequences between nodes and 2 inside, and then replicas cost nearly
# nothing, the last bucket and the latencies. The small GPT-2 fits on a GPU with that many. So we
# split it by data. A pipeline is for models too large for one device whose replicas get too few
# tokens to hide ZeRO's messages (lesson 12): fully sharded, Llama 3 405B would have taken 0.4 GB of
# each of its 16,384 GPUs, and it was cut into 16 stages all the same.
#
# Left out, against the pipeline: hidden states travel over $\text{pp} - 1$ borders, forward and
# back. For one micro-batch that's $2(\text{pp}-1)\,\tau d$ numbers, compared with the $2P$ of an
# all-reduce: 4 % for eight stages of the small GPT-2 and 1,024 tokens. A step of eight sends eight
# times as much, but only one micro-batch's trip, while the pipeline fills and drains, is on the
# critical path. And its 12 blocks and a head that does 31 % of the products with weights don't make
# eight equal stages. That decides where the formula is too close to call, in a node whose gradients
# don't hide: over a step of eight micro-batches the head's stage alone takes 4.7 ms, and eight
# replicas take 3.8 ms with all their averaging. In the pipeline's favor, $v$ chunks a rank divide
# its bubble by $v$, so without overlap the crossing moves to $c = 2v\,S/B$ (lesson 07).
#
# ## Homework: a pipeline of threads
#
# In our pipelines a device was a process. In torchgpipe, an implementation of GPipe for PyTorch,
# it's a **thread**: one process has all devices, each device has a worker thread, and a clock tells
# it what to compute. You'll write this pipeline, and the translator is its test.
#
# A pipeline is given a sequence of layers, each of which is on some device. First cut it into
# parts: a new part begins wherever the device changes.
#
# ### Your turn: GP-3 · 20 minutes · 10 points
#
# Write `_split_module()` in `gpt2/pipeline/partition.py`: the parts, and the device of each.

# %%
check("GP-3")

# %% [markdown]
# Then we need a clock, which says at each tick which part works on which micro-batch.
#
# ### Your turn: GP-4 · 20 minutes · 10 points
#
# Write `_clock_cycles()` in `gpt2/pipeline/pipe.py`: for each tick, which micro-batch is in which
# part.

# %%
check("GP-4")

# %%
from pipeline.pipe import _clock_cycles

for tick, cycle in enumerate(_clock_cycles(4, 2)):
    print(tick, "  ".join(f"micro-batch {i} in part {j}" for i, j in cycle))
print(gpipe(2, 4))

# %% [markdown]
# Micro-batch $i$ is in part $j$ at tick $i + j$. That's the first half, the forwards, of GPipe in
# lesson 06, which is printed in the last two lines.
#
# ### Your turn: GP-5 · 30 minutes · 15 points
#
# Write `Pipe.compute()` in `gpt2/pipeline/pipe.py`: the worker threads, one for each part, compute
# what one tick asks for. Hand out all tasks of the tick before you wait for the first answer.

# %%
check("GP-5")

# %% [markdown]
# `Pipe.forward()` puts the two together: it cuts the batch into micro-batches, has your `compute()`
# take them through the parts tick after tick, and joins the results.

# %% jupyter={"source_hidden": true}
show_code("gpt2/pipeline/pipe.py", "Pipe.forward")

# %% [markdown]
# ### Your turn: GP-7 · 25 minutes · 15 points
#
# Write `GPT2ModelParallel._prepare_pipeline_parallel()` in `gpt2/pipeline/model_parallel.py`: put
# the blocks of GPT-2 into such a pipeline.

# %%
check("GP-7")

# %% [markdown]
# Does the pipeline compute the same, on the model that has learned? We give it a mask too: the
# first row's first four tokens are masked, as padding on the left would be, and a pipeline that
# loses the mask on the way would be wrong there and nowhere else. Beside the gradients, we note
# which threads compute.

# %% jupyter={"source_hidden": true}
predict(
    "gpt2_two_ways-4",
    "Two worker threads compute the forward passes of the two parts. Then we call backward() once. "
    "Which threads compute backward, on a CPU?",
    "the same two, each for its own part",
    "one: the thread that called backward()",
    "one for each of the four micro-batches",
)

# %%
from pipeline.model_parallel import GPT2LMHeadModelParallel

split = make_model(model.config, kind=GPT2LMHeadModelParallel)
split.load_state_dict(model.state_dict())
threads = {"forward": set(), "backward": set()}


def note(what, *_):
    threads[what].add(threading.get_ident())


for block in split.transformer.h:
    block.register_forward_pre_hook(partial(note, "forward"))
    block.register_full_backward_hook(partial(note, "backward"))

# %%
split.parallelize(["cpu:0", "cpu:1"])
split._prepare_pipeline_parallel(split_size=8)
padded = collate(rows.train[:32])
padded["attention_mask"][0, :4] = 0
for each in (model, split):
    total, count = token_losses(padded, each)
    (total / count).backward()
split.deparallelize()  # its threads end
pairs = list(zip(model.parameters(), split.parameters(), strict=True))
apart = max((p.grad - q.grad).abs().max().item() for p, q in pairs)
largest = max(p.grad.abs().max().item() for p, _ in pairs)
claim.below("largest difference of a gradient, as a share", apart / largest, 1e-5)

# %%
mine = threading.get_ident()
claim.same("threads that computed forward", len(threads["forward"] - {mine}), 2)
claim.same("backward ran in the thread that called it alone", threads["backward"] == {mine})
reveal("gpt2_two_ways-4")

# %% [markdown]
# The gradients are the same. But look at who computed them: on a CPU, autograd runs all of backward
# in one thread, so two thirds of the work doesn't overlap. On GPUs autograd has one thread for each
# device, so backward could overlap too (we haven't tried it). Processes have replaced threads all
# the same: each has its own interpreter, and its own machine if need be, and the price is that
# hidden states become messages.
#
# And the translator? It learns for one more epoch, as two ranks did above, with its blocks in the
# pipeline:

# %% tags=["training"]
pipeline = learn("pipeline", 1, SENTENCES, weights=one[-1].weights)[0]
beside("pipeline", pipeline)

# %% [markdown]
# For longer runs the folder has scripts that draw the figures of the homework (`gpt2/README.md`).
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - Up to rounding, a split doesn't change what is learned, if nothing random depends on the layout
#   (here dropout is off). To check it, compare with one device that reads the same batches in the
#   same order; any other comparison measures the effect of the order.
# - A mean of means is wrong where ranks have different numbers of tokens. Add up sums and counts.
# - $n\,T = Mc + (n - \text{dp})\,c + (\text{dp}-1)\,2S/B$: without overlap, cut data if a
#   pipeline's smallest micro-batch has more than $(b/3)\,F/B$ tokens, and layers if it has fewer.
# - If gradients hide and all take the same small micro-batches, two pipelines win for $c$ between
#   $\frac67$ and $\frac65\,S/B$, and replicas above. Replicas cost nearly nothing once all
#   gradients hide.
# - On a CPU only the forward of a pipeline of threads can overlap.
#
# ## In the wild
#
# - The real GPT-2 had up to 1.5 billion parameters, 48 layers of width 1,600 ([Radford et al.,
#   2019](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf),
#   table 2). Today it would fit on one GPU, optimizer states included. GPT-3's 175 billion take 2.8
#   TB of weights, gradients and optimizer states (lesson 19). Splitting stops being a choice long
#   before: at 16 bytes a parameter, five billion fill a GPU of 80 GB.
# - In October 2024 gradient accumulation in a widely used library turned out to take the mean of
#   means: micro-batches of different lengths counted equally. It was fixed by counting the tokens
#   of the whole batch first ([the library's
#   account](https://huggingface.co/blog/gradient_accumulation)).
# - GPipe's paper trains a Transformer of 6 billion parameters and 128 layers that translates from
#   more than 100 languages into English ([1811.06965](https://arxiv.org/abs/1811.06965), section
#   5), which is this lesson's task, and your clock, on a larger scale.
#
# Go and read `clock_cycles` and `Pipeline.fence` in torchgpipe's `torchgpipe/pipeline.py`. How does
# it make backward run in the right order without a second clock?
#
# ## Where next
#
# So far, the wrong programs were your own. In [lesson 24](24_forensics.ipynb) they're somebody
# else's, and their mistakes are well hidden.
