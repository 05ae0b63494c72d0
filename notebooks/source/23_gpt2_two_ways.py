# %% [markdown]
# # GPT-2: two ways to split it
#
# *Reading 10 minutes · tasks 95 (homework 95) · machine 2*
#
# *With twenty minutes: read up to "Homework", and write GP-3.*
#
# GPT-2 is the model many courses start with, for good reason: it's small enough to understand as a
# whole, and it's a real language model. In the folder `gpt2/` a small one learns to translate
# German into English. Its training is split in two ways: each device gets a part of the **data**,
# or each device gets a part of the **layers**.
#
# By now you know both ways well. Here they come as a homework of their own, with one mean that's
# easy to get wrong, and a pipeline whose devices are threads of one process. `gpt2/README.md` says
# how to train both ways and how to draw the figures that compare them.
#
# **Question.** Does a split change what the translator learns, and which part of a pipeline of
# threads can overlap?

# %%
import sys
import threading
from functools import partial

import torch

from helpers.check import check, solve
from helpers.lesson import claim, predict, reveal, show_code
from helpers.schedules import gpipe

# %%
sys.path.append("../gpt2")  # a lab with its own folder of modules
torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## What it learns from
#
# The sentences come from a small grammar that writes both languages. German has three genders,
# adjectives with endings, and verbs at the end of the sentence, so there's something to learn.

# %%
from project.data import load

rows = load(train=quick(1000, 32), held_out=24)

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
# on with a loss of zero, because the others wait for it in their all-reduce.)
#
# ## Homework: a pipeline of threads
#
# In our pipelines a device was a process. In torchgpipe, an implementation of GPipe for PyTorch,
# it's a **thread**: one process has all devices, each device has a worker thread, and a clock tells
# it what to compute. You'll write this pipeline, and GPT-2 is its test.
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
# Does the pipeline compute the same? We give it a mask: the first row's first four tokens are
# masked, as padding on the left would be, and a pipeline that loses the mask on the way would be
# wrong there and nowhere else. Beside the gradients, we note which threads compute.

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

# %% [markdown]
# Up to rounding, the gradients are the same. But look at who computed them: on a CPU, autograd runs
# all of backward in one thread, so two thirds of the work doesn't overlap. On GPUs autograd has one
# thread for each device, so backward could overlap too (we haven't tried it). Processes have
# replaced threads all the same: each has its own interpreter, and its own machine if need be, and
# the price is that hidden states become messages.
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - Up to rounding, a split doesn't change what is learned, if nothing random depends on the layout,
#   as dropout would.
# - A mean of means is wrong where ranks have different numbers of tokens. Add up sums and counts.
# - On a CPU only the forward of a pipeline of threads can overlap.
#
# ## In the wild
#
# - The real GPT-2 had up to 1.5 billion parameters, 48 layers of width 1,600 ([Radford et al.,
# 2019](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf),
# table 2). Today it would fit on one GPU, optimizer states included. GPT-3's 175 billion take 2.8
# TB of weights, gradients and optimizer states (lesson 19). Splitting stops being a choice long
# before: at 16 bytes a parameter, five billion fill a GPU of 80 GB.
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
