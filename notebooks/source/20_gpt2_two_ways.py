# %% [markdown]
# # GPT-2: two ways to split it
#
# *Reading 35 minutes · tasks 120 · machine 2*
#
# *With twenty minutes: skip GP-1 and GP-2, and read the first session.*
#
# GPT-2 is the model that many courses begin with, and for a good reason: it's small enough to
# understand as a whole, and it's a real language model. Here a small one learns to translate German
# into English. We split it over two devices in two ways: each device has a part of the **data**, or
# each device has a part of the **layers**. A split that changes what the model learns is worth
# nothing, however fast it is. So everything here is compared with a control: one device that reads
# the same sentences in the same order.
#
# **Question.** Does a split change what the model learns? And is it faster on two cores?
#
# This lesson is two sessions: the data in the first, the layers in the second.

# %%
import sys
import time
from functools import partial

import torch

from helpers.grade import check
from helpers.lesson import answer, claim, predict, quick, reveal, show
from helpers.ranks import launch
from helpers.schedules import gpipe
from helpers.trace import Recorder

sys.path.append("../gpt2")  # a lab with its own folder of modules
torch.set_num_threads(1)  # in this lab, one device is one core
SENTENCES, EPOCHS = quick(300, 32), quick(6, 1)

# %%
from helpers.draw.splits import two_splits

show(two_splits())

# %% [markdown]
# ## The data
#
# The sentences come from a small grammar that writes both languages. German has more forms than
# English, such as three genders, endings of adjectives, and verbs at the end, so there's something
# to learn.

# %%
from project.data import load

rows = load(train=SENTENCES, held_out=24)
for row in rows.train[:3]:
    print(f"{row['de']}\n    {row['en']}")

# %% [markdown]
# A **tokenizer** cuts text into tokens. Both sentences go into one row: the German one, a token for
# its end, the English one, a token for its end. GPT-2 predicts each next token, but only the
# English ones should count in the loss, so they have the weight 1 and all others the weight 0. (The
# sum of the weights in row 0 is then the number of its English tokens, their end included.)

# %%
from project.models import make_config, make_model
from project.utils import collate_batch, get_tokenizer, token_losses

tokenizer = get_tokenizer(rows.train, 600, "de", "en")
collate = partial(
    collate_batch, src_key="de", tgt_key="en", tokenizer=tokenizer, model_max_length=48
)
batch = collate(rows.train[:2])
for name, tensor in batch.items():
    print(f"{name:20} {tuple(tensor.shape)}, the sum of row 0 is {tensor[0].sum():g}")

# %% [markdown]
# How good is a translation? **BLEU** compares its words, and its groups of up to four words, with
# those of the right translation: 0 means that nothing matches, 100 that both are the same
# ([Papineni et al., 2002](https://aclanthology.org/P02-1040/)).

# %%
from project.judge import judge

model = make_model(make_config("tiny", len(tokenizer), 48))
loss, bleu = judge(model, rows, tokenizer, collate, batch_size=24)
print(f"before training: loss {loss:.3f} nats per token, BLEU {bleu:.1f}")

# %% [markdown]
# ## The first way: each device has a part of the data
#
# Each rank has the whole model and a part of the sentences. Let's cut the sentences first. This is
# DP-3 of lesson 04 once more, with one thing to watch: no sentence may get lost between two parts.
#
# ### Your turn: GP-1 · 10 minutes · 10 points
#
# Write `cut()` in `gpt2/data_parallel/dataset.py`: which samples belong to which part. It's short.

# %%
check("GP-1")

# %% [markdown]
# Now the control. `same_order` puts the sentences into the order in which two ranks read them, so a
# batch of one device holds the sentences that both ranks together have in the same step. One device
# trains on them in this order, and every second epoch we look at how it translates three sentences:

# %% tags=["training"]
from project.control import learn, learn_on_ranks

one = learn("one device", EPOCHS, SENTENCES)
for row, *said in zip(rows.test, *(epoch.said for epoch in one), strict=False):
    print(f"{row['de']}\n    right:         {row['en']}")
    for number, words in list(enumerate(said))[1::2]:
        print(f"    after epoch {number}: {words}")

# %% [markdown]
# Now two ranks. After backward they take the mean of their gradients, so both take the same step.
#
# ### Your turn: GP-2 · 5 minutes · 10 points
#
# Write `average_gradients()` in `gpt2/project/run_data_parallel.py`: DP-1 once more, for a model in
# which some parameters may have no gradient.

# %%
check("GP-2")

# %%
predict(
    "L20-1",
    "Two ranks train, each with 8 of the 16 sentences of a step. How does their model compare with "
    "the one that one device has trained?",
    "it's the same, up to rounding",
    "it's a little worse: each rank has seen only half of the sentences",
    "it's a little better: two models have been averaged",
)

# %%
predict(
    "L20-2",
    "And how long does an epoch take on two ranks, on a machine with two cores, compared with one "
    "device?",
    "about half as long",
    "somewhat less",
    "just as long, or longer",
)


# %% tags=["time"]
def table(**ways):
    for name, epochs in ways.items():
        for number, epoch in enumerate(epochs):
            print(f"{name:9} epoch {number}: loss {epoch.loss:.3f}, BLEU {epoch.bleu:4.1f}, "
                  f"{epoch.seconds:5.1f} s of training")  # fmt: skip


two = launch(learn_on_ranks, 2, (1, SENTENCES), quiet=True, checked=False)[0]
table(one=one[:1], two=two)  # the later epochs would show the same
claim("the loss of two ranks, and of one device", two[0].loss, one[0].loss, within=0.01)
reveal("L20-1")

# %% tags=["time"]
ratio = two[0].seconds / one[0].seconds
print(f"two ranks take {ratio:.2f} times as long as one device")
reveal("L20-2", ratio=ratio)

# %% [markdown]
# The model is the same: what decides is the batch, not how many ranks it's cut over. That's also
# why it's worthless to compare a run on one device with a run on two if they read the sentences in
# different orders. After so few steps the order alone moves the loss, and BLEU with it, far more
# than the split does.
#
# The time is another matter. Each rank computes on 8 sentences instead of 16, which takes more than
# half as long, because a small batch uses a core less well. And `average_gradients` sends each of
# the 52 gradients by itself, after backward, while nothing else is computed. You know the cures
# from lesson 09: buckets that overlap, and larger batches.
#
# For longer runs the folder has scripts, with flags for everything: `project/run_data_parallel.py`
# and `project/run_pipeline.py` write each epoch's results as JSON, and `project/plot.py` draws the
# four figures of the homework from them. `gpt2/README.md` has the commands.
#
# ## The mean of two means
#
# The gradients of the two ranks are averaged, and so, in effect, are their losses. But say that one
# rank has a short sentence and the other a long one. Each takes the mean loss over its own tokens,
# and then the ranks take the mean of both.

# %%
predict(
    "L20-3",
    "Is the mean of the two means the mean over all tokens?",
    "yes",
    "no: the tokens of the short sentence count more",
    "no: the tokens of the long sentence count more",
)

# %% tags=["training"]
from project import utils

# A few steps of training: an untrained model finds every token equally hard.
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
utils.train(model, optimizer, rows.train[:200], 8, collate, "a little")
short, long = sorted(rows.train, key=lambda row: len(row["en"]))[:: len(rows.train) - 1]
with torch.no_grad():
    sums = [token_losses(collate([row]), model) for row in (short, long)]
for total, count in sums:
    print(f"{count:3g} tokens, mean loss {total / count:.4f}")
print(f"mean of the means: {sum(total / count for total, count in sums) / 2:.4f}")
print(f"mean over tokens:  {sum(t for t, _ in sums) / sum(c for _, c in sums):.4f}")
reveal("L20-3")

# %% [markdown]
# The program of this lesson does it right. With $L_r$ the sum of the losses of rank $r$, $t_r$ its
# number of tokens, and $n$ ranks, each rank calls backward on
#
# $$\frac{n\,L_r}{\sum_s t_s}, \qquad\text{so the mean over the ranks is}\quad \frac{1}{n}\sum_r
# \frac{n\,L_r}{\sum_s t_s} = \frac{\sum_r L_r}{\sum_s t_s}.$$
#
# It costs one more message in each step, with the number of tokens of all ranks. The same idea
# helps if one rank has one batch more than the others. The others continue with a loss of zero
# until the last rank is done, which would otherwise wait for them in its all-reduce.

# %% [markdown]
# — *End of the first session* —

# %% [markdown]
# ## The second way: each device has a part of the layers
#
# Blocks 0 and 1 are on the first device, blocks 2 and 3 on the second. In our pipelines so far, a
# device was a process. Here it's a **thread**, as in the homework that this folder follows, and
# we'll see what that costs.
#
# The pipeline is given a sequence of layers, each of which is on some device. First cut it into
# parts: a new part begins wherever the device changes.
#
# ### Your turn: GP-3 · 20 minutes · 10 points
#
# Write `_split_module()` in `gpt2/pipeline/partition.py`: the parts, and the device of each.

# %%
check("GP-3")

# %% [markdown]
# Then we need a clock, which says at each tick which part works on which micro-batch. Micro-batch
# $i$ is in part $j$ at tick $i + j$.
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
# The last two lines are GPipe of lesson 06, and the clock produces its first half, the forwards.
# The second half needs no clock, because autograd finds its way back by itself.
#
# Four parts and 12 micro-batches: how many ticks does the clock have?

# %%
mine = None
answer("L20-4", mine)

# %% [markdown]
# ### Your turn: GP-5 · 30 minutes · 15 points
#
# Write `Pipe.compute()` in `gpt2/pipeline/pipe.py`: the worker threads, one for each part, compute
# what one tick asks for. Hand out all tasks of the tick before you wait for the first answer.

# %%
check("GP-5")

# %% [markdown]
# ### Your turn: GP-6 · 10 minutes · 10 points
#
# Write `Pipe.forward()` in `gpt2/pipeline/pipe.py`: cut the batch into micro-batches, compute tick
# after tick, and join the results. It's short.

# %%
check("GP-6")

# %% [markdown]
# ### Your turn: GP-7 · 25 minutes · 15 points
#
# Write `GPT2ModelParallel._prepare_pipeline_parallel()` in `gpt2/pipeline/model_parallel.py`: put
# the blocks of GPT-2 into such a pipeline.

# %%
check("GP-7")

# %% [markdown]
# Does the pipeline compute the same? We give it a mask too: the first row has four tokens of
# padding on the left, and a pipeline that loses the mask on the way would be wrong there and
# nowhere else.

# %%
from pipeline.model_parallel import GPT2LMHeadModelParallel

whole = make_model(model.config)
split = make_model(model.config, kind=GPT2LMHeadModelParallel)  # the same seed, the same weights
split.parallelize(["cpu:0", "cpu:1"])
recorders = [Recorder(rank=part) for part in range(2)]
split._prepare_pipeline_parallel(split_size=8, recorders=recorders)
padded = collate(rows.train[:32])
padded["attention_mask"][0, :4] = 0
losses = [total / count for total, count in (token_losses(padded, m) for m in (whole, split))]
for loss in losses:
    loss.backward()
pairs = zip(whole.parameters(), split.parameters(), strict=True)
print(f"losses {losses[0]:.6f} and {losses[1]:.6f}")
apart = max((p.grad - q.grad).abs().max().item() for p, q in pairs)
claim.below("largest difference of a gradient", apart, 1e-4)

# %% [markdown]
# The gradients are the same, so the pipeline must learn the same. Here is one epoch, on the
# sentences of the first session:

# %% tags=["time"]
pipeline = learn("pipeline", 1, SENTENCES)
table(one=one[:1], pipeline=pipeline)
claim("the loss of the pipeline, and of one device", pipeline[0].loss, one[0].loss, within=0.01)

# %% [markdown]
# ## What do two threads gain?
#
# This is what they did in the forward of that batch of 32 sentences (rank 0 is the first thread):

# %% tags=["time"]
threads = split.transformer.h_pp.trace()
show(threads)

# %%
predict(
    "L20-5",
    "In forward, the two threads overlap. How much faster is a whole step, forward and backward, "
    "than without a pipeline, with one part after the other?",
    "twice as fast",
    "a little faster, or not at all",
    "half as fast, or worse",
)


# %%
def seconds(backward):
    begun = time.perf_counter()
    total, count = token_losses(padded, split)
    if backward:
        (total / count).backward()
    return time.perf_counter() - begun


def race(backward):
    times = {"in turn": [], "pipeline": []}
    for _ in range(quick(2, 1)):
        for way, found in times.items():  # in alternation, so that noise meets both
            split._finalize_pipeline_parallel()
            if way == "pipeline":
                split._prepare_pipeline_parallel(split_size=8)
            found.append(min(seconds(backward) for _ in range(quick(2, 1))))
    return [1e3 * min(found) for found in times.values()]


# %% tags=["time"]
for what, backward in (("forward", False), ("whole step", True)):
    turn, piped = race(backward)
    print(f"{what:10} in turn {turn:4.0f} ms, pipeline {piped:4.0f} ms, ratio {turn / piped:.2f}")
split.deparallelize()  # its threads end
reveal("L20-5", ratio=turn / piped)

# %% [markdown]
# On a CPU, autograd runs all of backward in one thread. So backward, about two thirds of the work,
# doesn't overlap here, and even the forward gains only if two cores are free. On GPUs both overlap,
# because there autograd has one thread for each device.
#
# ## The same blocks as processes
#
# In lesson 06 each stage was a process. A process has its own autograd, so backward overlaps too,
# and the price is that everything that passes from part to part is a message. Here is one step of
# the same blocks with the same four micro-batches, run by the executor of lesson 06:

# %% tags=["time"]
from pipeline.by_process import one_step, together

tokens = collate(rows.train[:32])["input_ids"].shape[1]
hidden = torch.randn(32, tokens, model.config.n_embd)
answers = launch(one_step, 2, args=(model.config, hidden, 4), quiet=True, checked=False)
show(together([trace for trace, _, _ in answers]))

# %% [markdown]
# Look at the backwards. With threads, backward was one call of autograd in one thread, so it isn't
# in their picture at all. Here each rank computes its own B, and the two overlap.
#
# ## Eight ranks: plan, then run
#
# Which split would you choose on more devices? Lesson 17 has a search for that. Here we ask it
# about eight ranks and 16 sequences a step. The model is a LLaMA with eight blocks, because the
# trainer of lesson 08 can run it on any grid of replicas and stages. The machine is yours, as
# `measure()` finds it, and each rank gets its share of the cores.

# %%
import os
from dataclasses import replace

from helpers.cluster import measure, search
from helpers.cost import ModelConfig

here, share = measure(), min(1, (os.cpu_count() or 1) / 8)
rates = {"peak": here.peak * share, "memory_bandwidth": here.memory_bandwidth * share}
machine = replace(here, node=8, launch=here.launch / share, **rates)
blocks = ModelConfig("llama", 64, 8, 4, 4, 16, 256, 1200, 128)

# %% tags=["time"]
found = search(blocks, machine, gpus=8, batch=16, sequence=64, recompute="none", zero=0)
found = [e for e in found if e.layout.tp == e.layout.chunks == e.layout.micro_batch == 1]
plans = {e.layout.dp: e.seconds for e in found}  # what our trainer runs: replicas and stages
for dp, seconds_planned in plans.items():
    print(f"dp {dp} x pp {8 // dp}: {1e3 * seconds_planned:5.0f} ms a step, planned")

# %% [markdown]
# The first line is what the search proposes. Lesson 17 warned that on a CPU the milliseconds may be
# far off, so let's only ask how the layouts compare with each other.

# %%
predict(
    "L20-6",
    "The plan charges a pipeline for its bubble. Now all four layouts run, with eight real ranks "
    "on the cores that you have. How well does one pipeline of eight stages do, compared with "
    "eight replicas?",
    "about as planned",
    "better than planned",
    "worse than planned",
)


# %%
def run_layouts(dps, steps):
    """On a rank: the seconds of the fastest step of each layout."""
    sys.path[:0] = ["../DP_PP"]
    import intro_DP_PP

    from helpers.ranks import find_place

    fastest = []
    for dp in dps:
        sizes = {"stages": 8 // dp, "micro-batches": 16 // dp, "batch-size": 16 // dp}
        sizes |= {"layers": 8, "seq-l": 64, "steps": steps}
        flags = [f"--{name}={size}" for name, size in sizes.items()]
        options = intro_DP_PP.read_flags(flags)
        *_, trace = intro_DP_PP.train(options, find_place(), "cpu", lambda *_: None)
        ends = sorted(event.end for event in trace.events if event.kind == "update")
        fastest.append(min(b - a for a, b in zip(ends, ends[1:], strict=False)))
    return fastest


# %% tags=["time"]
ran = launch(run_layouts, 8, (tuple(plans), quick(4, 2)), quiet=True, checked=False)
real = dict(zip(plans, map(max, zip(*ran, strict=True)), strict=True))
for dp, planned in plans.items():
    print(f"dp {dp} x pp {8 // dp}: {1e3 * planned:4.0f} ms planned, {1e3 * real[dp]:4.0f} ms real")
gain = (real[8] / real[1]) / (plans[8] / plans[1])
reveal("L20-6", gain=gain)

# %% [markdown]
# On a cluster, a device that waits is wasted. Here the ranks share cores, so a rank that waits in
# the bubble leaves its core to one that computes. What counts instead is the sum of all work: every
# replica averages all its gradients, through the same memory, and every message costs processor
# time. So ask of each plan which resource it takes to be scarce, and also run the layouts that come
# close behind the proposed one.
#
# ## What to remember
#
# - A split must not change what is learned. Compare with one device that reads the same batches in
#   the same order; everything else compares orders.
# - In data parallelism each device has the whole model and a part of the data, and they average
#   their gradients. With small batches on two cores that hardly pays.
# - A mean of means is wrong where ranks have different numbers of tokens. Add up sums and counts.
# - In a pipeline each device has a part of the layers, and micro-batch $i$ is in part $j$ at tick
#   $i + j$.
# - A thread for each device is enough on GPUs. On a CPU, threads overlap only the forward;
#   processes overlap everything, and pay for it with messages.
#
# ## In the wild
#
# - The real GPT-2 had up to 1.5 billion parameters, 48 layers of width 1,600 ([Radford et al.,
#   2019](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf),
#   table 2). Today it would fit on one GPU, optimizer states included. GPT-3's 175 billion take 2.8
#   TB of weights, gradients and optimizer states (lesson 17), and that's where splitting stops
#   being a choice.
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
# So far, the wrong programs were your own. In [lesson 21](21_forensics.ipynb) they're somebody
# else's, and their mistakes are well hidden.
