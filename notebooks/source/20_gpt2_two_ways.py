# %% [markdown]
# # GPT-2: two ways to split it
#
# **Needs:** two cores, no network. **Takes:** one to two minutes.
#
# GPT-2 is the model that many courses begin with. Here a small one learns to translate German
# into English. Then it is split over two devices, in two ways: each device has a part of the
# **data**, or each device has a part of the **layers**.
#
# **Question.** Does a split change what the model learns? And is it faster on two cores?

# %%
# needs: gpt2/project/run_data_parallel.py, gpt2/project/utils.py, gpt2/pipeline/pipe.py
# needs: gpt2/pipeline/by_process.py, gpt2/pipeline/model_parallel.py, gpt2/project/grammar.py
# needs: gpt2/data_parallel/dataset.py
import subprocess
import sys
import tempfile
import time
from functools import partial

import torch

from helpers.grade import check
from helpers.lesson import answer, predict, show
from helpers.schedules import gpipe
from helpers.trace import Recorder

sys.path.append("../gpt2")  # a lab with its own folder of modules
torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## The data
#
# The sentences come from a small grammar that writes both languages. German has more forms than
# English: three genders, endings of adjectives, and verbs at the end. So there is something to
# learn.

# %%
from project.data import load

rows = load(train=1000, held_out=24)
for row in rows.train[:3]:
    print(f"{row['de']}\n    {row['en']}")

# %% [markdown]
# A **tokenizer** cuts text into pieces that are called tokens. Both sentences go into one row: the
# German one, a token for its end, the English one, a token for its end. GPT-2 predicts each next
# token. But only the English tokens count in the loss: their weight is 1, and all others have 0.

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
# ## The first way: each device has a part of the data
#
# Each rank has the whole model, and a part of the sentences. After backward all ranks take the mean
# of their gradients. So all of them make the same step.
#
# How good is a translation? **BLEU** compares it with the right one: 0 means that no words fit, 100
# means that both are the same.

# %%
from project.judge import judge

model = make_model(make_config("tiny", len(tokenizer), 48))
loss, bleu = judge(model, rows, tokenizer, collate, batch_size=24)
print(f"before training: loss {loss:.3f} nats per token, BLEU {bleu:.1f}")

# %%
command = "../gpt2/project/run_data_parallel.py --world_size 2 --n_train 1000 --n_held_out 24"
command += " --batch_size 16 --n_epochs 3 --model_max_length 48 --workdir"
with tempfile.TemporaryDirectory() as place:
    words = [sys.executable, *command.split(), place]
    run = subprocess.run(words, capture_output=True, text=True)
print(run.stdout or run.stderr)

# %% [markdown]
# ## The mean of two means
#
# One rank has a short sentence, the other a long one. Each takes the mean loss over its own tokens.
# Then the ranks take the mean of both.

# %%
predict(
    "Is the mean of the two means the mean over all tokens?",
    "yes",
    "no: the tokens of the short sentence count more",
    "no: the tokens of the long sentence count more",
)

# %%
short, long = sorted(rows.train, key=lambda row: len(row["en"]))[:: len(rows.train) - 1]
with torch.no_grad():
    sums = [token_losses(collate([row]), model) for row in (short, long)]
for total, count in sums:
    print(f"{count:3g} tokens, mean loss {total / count:.4f}")
print(f"mean of the means: {sum(total / count for total, count in sums) / 2:.4f}")
print(f"mean over tokens:  {sum(t for t, _ in sums) / sum(c for _, c in sums):.4f}")

# %% [markdown]
# The program does it right: each rank divides its sum by the tokens of **all** ranks, times the
# number of ranks. Then the mean of the gradients is the gradient of the mean over all tokens. It
# needs one more number in each step: how many tokens all ranks have.
#
# The same idea helps where one rank has a sentence more. The others go on with a zero, until the
# last rank has ended. Without that, the last rank would wait in the all-reduce for ever.
#
# ## The second way: each device has a part of the layers
#
# Blocks 0 and 1 are on the first device, blocks 2 and 3 on the second. Here a device is a thread.
# A clock says who works on which micro-batch. Micro-batch `i` is in part `j` at tick `i + j`:

# %%
from pipeline.pipe import _clock_cycles

for tick, cycle in enumerate(_clock_cycles(4, 2)):
    print(tick, "  ".join(f"micro-batch {i} in part {j}" for i, j in cycle))
print(gpipe(2, 4))

# %% [markdown]
# The last lines are GPipe of lesson 06. The clock is its first half: the forwards. The second half
# needs no clock, because autograd finds its way back by itself.
#
# Does the pipeline compute the same? We give a mask too: the first row has four tokens of padding
# on the left.

# %%
from pipeline.model_parallel import GPT2LMHeadModelParallel

split = make_model(model.config, kind=GPT2LMHeadModelParallel)  # the same seed, the same weights
split.parallelize(["cpu:0", "cpu:1"])
recorders = [Recorder(rank=part) for part in range(2)]
split._prepare_pipeline_parallel(split_size=16, recorders=recorders)
batch = collate(rows.train[:64])
batch["attention_mask"][0, :4] = 0
losses = [total / count for total, count in (token_losses(batch, m) for m in (model, split))]
for loss in losses:
    loss.backward()
pairs = zip(model.parameters(), split.parameters(), strict=True)
print(f"losses {losses[0]:.6f} and {losses[1]:.6f}")
print(f"gradients: {max((p.grad - q.grad).abs().max() for p, q in pairs):.1e} apart at most")

# %% [markdown]
# This is what the two threads did, measured:

# %%
threads = split.transformer.h_pp.trace()
show(threads)

# %%
predict(
    "Forward overlaps in two threads. How much faster is a whole step, forward and backward?",
    "twice as fast",
    "a little faster, or not at all",
    "twice as slow",
)


# %%
def seconds(backward):
    begun = time.perf_counter()
    total, count = token_losses(batch, split)
    if backward:
        (total / count).backward()
    return time.perf_counter() - begun


def race(backward):
    times = {"in turn": [], "pipeline": []}
    for _ in range(3):
        for way, found in times.items():  # both ways, again and again: what disturbs, disturbs both
            split._finalize_pipeline_parallel()
            if way == "pipeline":
                split._prepare_pipeline_parallel(split_size=16)
            found.append(min(seconds(backward) for _ in range(2)))
    return [1e3 * min(found) for found in times.values()]


# %%
for what, backward in (("forward", False), ("whole step", True)):
    turn, piped = race(backward)
    print(f"{what:10} in turn {turn:4.0f} ms, pipeline {piped:4.0f} ms, ratio {turn / piped:.2f}")
split.deparallelize()  # its threads end

# %% [markdown]
# Autograd has one thread for the CPU. So backward, which is about two thirds of the work, does not
# overlap here. And two threads gain only where two cores are free: with other programs at work, the
# forward of the pipeline may even be slower. On GPUs both overlap: there autograd has one thread
# for each device.
#
# ## The same blocks as processes
#
# In lesson 06 each stage was a process. A process has an autograd of its own, so backward overlaps
# too. The price is that all that passes from part to part is a message. Here are the same blocks,
# the same four micro-batches, and the executor of lesson 06:

# %%
from pipeline.by_process import one_step, together

from helpers.ranks import launch
from helpers.timeline import Timeline

hidden = torch.randn(64, batch["input_ids"].shape[1], model.config.n_embd)
answers = launch(one_step, 2, args=(model.config, hidden, 4), quiet=True, checked=False)
processes = together([trace for trace, _, _ in answers])
title = "Two threads overlap in forward, two processes in backward too"
both = Timeline({"two threads": threads, "two processes": processes}, title)
show(both.picture(), live=lambda: both)

# %% [markdown]
# Threads wrote down their forwards only: their backward is one call of autograd, on one thread. The
# processes wrote down each B and each message.
#
# ## What to remember
#
# - Data parallel: the whole model everywhere, a part of the data each, the mean of the gradients.
# - A mean of means is wrong where ranks have different numbers of tokens. Add up sums and counts.
# - Ranks need the same weights at the start: check it. A rank without data goes on with zeros.
# - Pipeline: a part of the layers each. Micro-batch `i` is in part `j` at tick `i + j`.
# - A thread for each device is enough for GPUs. On a CPU backward has one thread.
# - A process for each device overlaps backward everywhere, and pays with messages.
# - Compare fairly: one thread for each device, no padding among the tokens, no first epoch.
#
# ## Exercises
#
# **1. Task GP-1: the parts of the data.**

# %%
check("GP-1")

# %% [markdown]
# **2. Task GP-2: the mean of the gradients.**

# %%
check("GP-2")

# %% [markdown]
# **3 and 4. Tasks GP-3 and GP-4: where the layers are cut, and the clock.**

# %%
check("GP-3")

# %%
check("GP-4")

# %% [markdown]
# **5 and 6. Tasks GP-5 and GP-6: one tick, and a whole batch.**

# %%
check("GP-5")

# %%
check("GP-6")

# %% [markdown]
# **7. Task GP-7: the blocks of GPT-2 as a pipeline.**

# %%
check("GP-7")

# %% [markdown]
# **8.** Four parts and 12 micro-batches. How many ticks does the clock have? (It is your GP-4
# that counts.)

# %%
mine = None
answer(mine, lambda: len(list(_clock_cycles(12, 4))))
